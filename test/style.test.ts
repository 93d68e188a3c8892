/**
 * Rules of style that neither the formatter nor the linter can check: the width of strings, comments and SQL, the
 * layout of SQL, and the names of types. Each failure names the file and the line.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { listImports, listSourceFiles, ROOT } from './source-imports.ts'

const WIDTH = 120
/** The client is generated from the OpenAPI document. */
const GENERATED = ['clients/typescript/mailstead.ts', 'dashboard/src/api/endpoints.ts', 'dashboard/src/ui/icons.tsx']
/** Mail and replies as they are, for the page of the components. */
const SAMPLES = 'dashboard/src/ui/gallery/gallery-data.ts'
/** Words that once stood for many types and said nothing of any. */
const WORN_OUT = new Set(['Place', 'Means', 'Told', 'Wanted', 'Written', 'Trouble', 'Order'])

const files = listSourceFiles().filter((file) => !GENERATED.includes(file))
const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))

interface TypeDeclaration {
  readonly name: string
  readonly file: string
  readonly isExported: boolean
}

const types: readonly TypeDeclaration[] = [...texts].flatMap(([file, text]) =>
  [...text.matchAll(/^(export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm)].map(
    ([, exported, name = '']) => ({ name, file, isExported: exported !== undefined }),
  ),
)

function fail(problems: readonly string[]): void {
  if (problems.length > 0) assert.fail(`\n${problems.join('\n')}`)
}

/** The lines of a file that `isWrong` finds, as `file:line`. */
function findLines(isWrong: (line: string, file: string) => boolean): string[] {
  return [...texts].flatMap(([file, text]) =>
    text.split('\n').flatMap((line, i) => (isWrong(line, file) ? [`${file}:${i + 1}`] : [])),
  )
}

/** A line of the dashboard that is wide only by one text: a text of the catalogue, or the classes of an element. */
function isTextOfDashboard(line: string, file: string): boolean {
  if (file === SAMPLES) return true
  return file.startsWith('dashboard/src/') && line.replace(/'[^']*'|"[^"]*"|`[^`]*`/g, '').length <= WIDTH / 2
}

/** The files that a process runs: its main file and all that it imports. */
function listProcesses(): Map<string, Set<string>> {
  const imports = new Map(files.map((file) => [file, listImports(file)]))
  const mains = files.filter((file) => /^(?:api|mta|worker|bench)\/main\.ts$|^bin\/commands\/[\w-]+\.ts$/.test(file))
  return new Map(
    mains.map((main) => {
      const reached = new Set([main])
      for (const file of reached) for (const target of imports.get(file) ?? []) reached.add(target)
      return [main, reached]
    }),
  )
}

/** A statement or fragment in backticks: what stands between them, and the line of the first. */
interface Template {
  readonly file: string
  readonly line: number
  readonly tag: string
  readonly text: string
}

function listTemplates(): Template[] {
  return [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/(\w*)`([^`]*)`/g)].map((match) => ({
      file,
      line: text.slice(0, match.index).split('\n').length,
      tag: match[1] ?? '',
      text: match[2] ?? '',
    })),
  )
}

const STATEMENT = /^\s*(?:WITH|SELECT|INSERT INTO|UPDATE|DELETE FROM|MERGE INTO)\s[^`]*\n/
const CLAUSE =
  /\s(?:SELECT|FROM|WHERE|GROUP BY|HAVING|ORDER BY|LIMIT|RETURNING|VALUES|ON CONFLICT|LEFT JOIN|JOIN|CROSS JOIN)\s/

/** What a line may begin with: one clause. `ON CONFLICT` names the condition of the index that it means. */
const FIRST_CLAUSE =
  /^(?:ON CONFLICT .*|DELETE FROM|SELECT FROM|INSERT INTO \w+ VALUES|(?:[A-Z]+ )?JOIN|[A-Z]+(?: BY)?)/
/** May stand in one line: the definition of an index, of a function's body or of a partition; and a comment. */
const DEFINITION = /^(?:CREATE|AS \$|FOR VALUES|--)/

/** True for a line in which a second clause begins. Parentheses may hold a short query. */
function hasTwoClauses(line: string): boolean {
  const rest = stripNested(line)
    .replace(/ IS (?:NOT )?DISTINCT FROM /, ' = ')
    .replace(FIRST_CLAUSE, '')
  return !DEFINITION.test(line) && CLAUSE.test(` ${rest} `)
}

/** Text without what stands in parentheses or quotes. */
function stripNested(line: string): string {
  let text = line.replaceAll(/'[^']*'/g, "''")
  for (let before = ''; before !== text;) {
    before = text
    text = text.replaceAll(/\([^()]*\)/g, '')
  }
  return text
}

describe('the style of the code', () => {
  it(`is at most ${WIDTH} columns wide, in code, strings, comments and SQL`, () => {
    assert.ok(files.length > 1000)
    fail(findLines((line, file) => line.length > WIDTH && !isTextOfDashboard(line, file)))
  })

  it('has a tag on SQL of more than one line', () => {
    const untagged = listTemplates().filter(({ tag, text }) => tag === '' && STATEMENT.test(text))
    fail(untagged.map(({ file, line }) => `${file}:${line}: put the tag sql before the statement (src/stores/sql.ts)`))
  })

  it('has one clause a line in SQL of more than one line', () => {
    const statements = listTemplates().filter(({ tag, text }) => tag === 'sql' && text.includes('\n'))
    const wrong = statements.flatMap(({ file, line, text }) =>
      text.split('\n').flatMap((row, i) => (hasTwoClauses(row.trim()) ? [`${file}:${line + i}`] : [])),
    )
    fail(wrong)
  })

  it('has no worn-out name of a type', () => {
    fail(types.filter(({ name }) => WORN_OUT.has(name)).map(({ name, file }) => `${file}: ${name}`))
  })

  it('gives the name of an exported type one meaning within a process and all that it imports', () => {
    const exported = Map.groupBy(
      types.filter(({ isExported }) => isExported),
      ({ name }) => name,
    )
    const problems = new Set<string>()
    for (const reached of listProcesses().values()) {
      for (const [name, declarations] of exported) {
        const found = declarations.filter(({ file }) => reached.has(file)).map(({ file }) => file)
        if (found.length > 1) problems.add(`${name}: ${found.join(', ')}`)
      }
    }
    fail([...problems])
  })
})
