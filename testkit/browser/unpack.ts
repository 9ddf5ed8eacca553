import chromium, { inflate } from '@sparticuz/chromium';

/** Unpacks the browser, its fonts and libraries into TMPDIR, where the package puts them. */
chromium.setGraphicsMode = false;
await chromium.executablePath();
await inflate(new URL('../bin/al2023.tar.br', import.meta.resolve('@sparticuz/chromium')).pathname);
