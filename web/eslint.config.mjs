// @ts-check
import js from '@eslint/js';
import globals from 'globals';

export default [
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: { eqeqeq: 'error', 'no-var': 'error', 'prefer-const': ['error', { ignoreReadBeforeAssign: true }], 'no-implicit-globals': 'error' },
  },
  { files: ['web/page/**/*.js'], ignores: ['web/page/worker.js'], languageOptions: { globals: globals.browser } },
  { files: ['web/page/worker.js'], languageOptions: { globals: globals.worker } },
  { files: ['web/*.js'], languageOptions: { globals: globals['shared-node-browser'] } },
  { files: ['web/*.mjs', 'tests/web/*.mjs'], languageOptions: { globals: globals.node } },
];
