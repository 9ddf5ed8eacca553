import hooks from 'node:async_hooks';

/**
 * Import it before `node:test`, which otherwise follows every promise to know whose error it is: that takes a third of the
 * time of a test that awaits much. An error that nobody handles then fails the file instead of the test.
 */
const { createHook } = hooks;
hooks.createHook = (options) => createHook({ ...options, trackPromises: false });
