/** docs/guides/templates.md lists the same rows as the tables in the code. */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { HELPERS } from './helpers.ts'
import { REVIEW_RULES } from './review-rules.ts'
import { toSnakeCase, VARIABLES } from './variables.ts'

const page = readFileSync(new URL('../../docs/guides/templates.md', import.meta.url), 'utf8')

/** The rows of the table below a heading, without the header row. */
function rowsBelow(heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  return section.split('\n').filter((line) => line.startsWith('| `'))
}

const TABLES: readonly [heading: string, rows: string[]][] = [
  ['Helpers', Object.entries(HELPERS).map(([name, { use, does }]) => `| \`${name}\` | \`${use}\` | ${does} |`)],
  [
    'Variables',
    Object.entries(VARIABLES).map(
      ([name, { does }]) =>
        `| \`${name}\` | ${toSnakeCase(name) === name ? '' : `\`${toSnakeCase(name)}\``} | ${does} |`,
    ),
  ],
  [
    'Before it is sent',
    Object.entries(REVIEW_RULES).map(([name, { level, does }]) => `| \`${name}\` | ${level} | ${does} |`),
  ],
]

describe('docs/guides/templates.md', () => {
  for (const [heading, rows] of TABLES)
    it(`lists the same rows as the code: ${heading}`, () => assert.deepEqual(rowsBelow(heading), rows))
})
