import { render } from 'preact';
import { App } from './app.tsx';
import { restoreSession } from './session.ts';
import './styles/theme.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/controls.css';
import './styles/content.css';
import './styles/plants.css';
import './styles/motion.css';

const root = document.getElementById('app');
if (!root) throw new Error('The page has no root element for the console.');
render(<App />, root);
void restoreSession();
