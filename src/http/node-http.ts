/**
 * Node's HTTP module, for its values. An `import` of one reads every export, and so loads the WebSocket that Node keeps
 * until somebody needs it.
 */
export const nodeHttp = process.getBuiltinModule('node:http');
