/**
 * The linter's rules. The restrictions of imports come from the table in `test/dependency-rules.ts`, so that an editor
 * reports what `test/dependency-rules.test.ts` would. `npm run check` and `npm test` run this.
 */
import { defineConfig, type OxlintOverride } from 'oxlint'
import { ANY, FOLDERS, listPermitted } from '#test/dependency-rules.ts'

const RELATIVE = [
  { regex: '^\\.\\./', message: 'Write the path from its top folder: #src/..., #mta/..., #api/...' },
  { regex: '^\\./.*/', message: 'Write the path of another folder from its top folder: #src/..., #mta/...' },
]

/** What a folder, or the tests in it, may not import. The linter knows no pattern for "all but", so all others are listed. */
function restrict(folder: string, isBesideTest: boolean): OxlintOverride {
  const permitted = listPermitted(folder, isBesideTest) ?? []
  const forbidden = [...FOLDERS.keys()].filter((name) => !permitted.includes(name) && !permitted.includes(ANY))
  const message = `${folder} may import: ${permitted.join(', ')} (test/dependency-rules.ts). Its own files: ./...`
  const regex = `^#(?:${(permitted.includes(ANY) ? [folder] : forbidden).join('|')})/[^/]+$`
  return {
    files: isBesideTest
      ? [`${folder}/*.test.ts`, `${folder}/*.test-data.ts`]
      : [`${folder}/*.ts`, `${folder}/*.tsx`, `${folder}/*.mjs`],
    rules: { 'no-restricted-imports': ['error', { patterns: [{ regex, message }, ...RELATIVE] }] },
  }
}

export default defineConfig({
  plugins: ['typescript', 'import', 'unicorn', 'oxc', 'node', 'promise'],
  categories: { correctness: 'error', suspicious: 'error' },
  options: { typeAware: true },
  ignorePatterns: [
    'node_modules',
    'data',
    'bench/out',
    'bench/haraka',
    'bundle',
    'dist',
    'clients/typescript/mailstead.ts',
    'dashboard/src/api/endpoints.ts',
    'dashboard/src/ui/icons.tsx',
  ],
  rules: {
    'import/no-cycle': 'error',
    'import/no-default-export': 'error',
    'max-depth': ['error', 3],
    'max-lines': ['error', 300],
    'max-lines-per-function': ['error', { max: 60, skipComments: true, skipBlankLines: true }],
    'max-params': ['error', 4],
    'no-console': 'error',
    'no-restricted-imports': ['error', { patterns: RELATIVE }],
    'node/no-process-env': 'error',
    'typescript/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    'typescript/no-explicit-any': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/switch-exhaustiveness-check': 'error',
    'unicorn/filename-case': ['error', { case: 'kebabCase' }],

    'import/no-named-as-default-member': 'off',
    'no-unmodified-loop-condition': 'off',
    'promise/always-return': 'off',
    'typescript/no-unnecessary-type-parameters': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'unicorn/consistent-function-scoping': 'off',
  },
  overrides: [
    ...[...FOLDERS.keys()].flatMap((folder) => [restrict(folder, false), restrict(folder, true)]),
    {
      // config/environment.ts reads it for production; the others run before there is a config
      files: [
        'config/environment.ts',
        'bin/setup.mjs',
        'bin/check-platform.mjs',
        'packaging/**',
        'bench/**',
        'docs/examples/**',
        'test/**',
        '**/*.test.ts',
      ],
      rules: { 'node/no-process-env': 'off' },
    },
    { files: ['docs/examples/**'], rules: { 'no-console': 'off' } },
    // style sheets are imported for their effect
    {
      files: ['dashboard/src/main.tsx', 'dashboard/src/automations/flow-canvas.tsx'],
      rules: { 'import/no-unassigned-import': 'off' },
    },
    { files: ['dashboard/vite.config.ts', 'dashboard/screenshots.ts'], rules: { 'node/no-process-env': 'off' } },
    // a component is its markup: half of its lines are attributes
    { files: ['dashboard/src/**/*.tsx'], rules: { 'max-lines-per-function': ['error', 100] } },
    // oxlint and mocha expect a default export
    {
      files: ['oxlint.config.ts', 'dashboard/vite.config.ts', 'test/support/reporter.ts'],
      rules: { 'import/no-default-export': 'off' },
    },
    // a table, one row for each folder
    { files: ['test/dependency-rules.ts'], rules: { 'max-lines': 'off' } },
    { files: ['**/*.test-data.ts'], rules: { 'max-lines': 'off' } },
    {
      files: ['**/*.test.ts', '**/*.test-data.ts', 'test/**'],
      rules: {
        'max-lines-per-function': 'off',
        'no-unused-expressions': 'off',
        'typescript/no-unused-expressions': 'off',
      },
    },
  ],
})
