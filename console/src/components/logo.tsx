/** The plant of the Plant Store. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="9" class="logo-ground" />
      <path class="logo-leaf" d="M16 15.5C16 10 12 7 6.5 7c0 6 3 9.5 9.5 8.5Z" />
      <path class="logo-leaf light" d="M16 19c0-5 3.5-8 9.5-8 0 5.8-3.3 8.6-9.5 8Z" />
      <path class="logo-stem" d="M16 26V14.5" />
    </svg>
  );
}
