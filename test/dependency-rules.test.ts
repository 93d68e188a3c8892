import { posix } from 'node:path'
import { assert } from 'chai'
import { ANY, FOLDERS, formatRow, isWithin, listPermitted, type Rules, TESTS, WALLS } from './dependency-rules.ts'
import { isTestFile, listImports, listSourceFiles } from './source-imports.ts'

interface Import {
  readonly file: string
  readonly target: string
  readonly from: string
  readonly to: string
  /** A test beside production code, which has more permissions than its folder. */
  readonly isBesideTest: boolean
}

const files = listSourceFiles()
const imports: readonly Import[] = files.flatMap((file) => {
  const from = posix.dirname(file)
  const isBesideTest = isTestFile(file) && !isWithin(from, 'test')
  const targets = listImports(file).map((target) => ({ target, to: posix.dirname(target) }))
  return targets.filter(({ to }) => to !== from).map((edge) => ({ file, from, isBesideTest, ...edge }))
})
const folders = new Set(files.map((file) => posix.dirname(file)))

/** The folders that the code of `folder` imports: what its row has to say. */
function listUsed(folder: string, isBesideTest: boolean): string[] {
  const used = imports.filter((edge) => edge.from === folder && edge.isBesideTest === isBesideTest)
  return [...new Set(used.map(({ to }) => to))].toSorted()
}

/** The row of a folder as its imports are now, to put into `table`. */
function rowFor(folder: string, table: Rules): string {
  if (table === FOLDERS) return formatRow(folder, listUsed(folder, false))
  const known = new Set(['test/support', ...(FOLDERS.get(folder) ?? [])])
  return formatRow(
    folder,
    listUsed(folder, true).filter((name) => !known.has(name)),
  )
}

function fail(problems: readonly string[]): void {
  if (problems.length > 0) assert.fail(`\n${[...new Set(problems)].join('\n')}`)
}

/** The longest path of imports within a tree of folders. */
function countLevels(tree: string): number {
  const levels = new Map<string, number>()
  for (const [folder, permitted] of FOLDERS) {
    if (!isWithin(folder, tree)) continue
    levels.set(folder, 1 + Math.max(0, ...permitted.map((name) => levels.get(name) ?? 0)))
  }
  return Math.max(...levels.values())
}

describe('dependency rules', () => {
  it('have one row for each folder with code, and no other row', () => {
    const missing = [...folders].filter((folder) => !FOLDERS.has(folder))
    fail(missing.map((folder) => `${folder} has no row in FOLDERS. Its imports need:\n${rowFor(folder, FOLDERS)}`))
    const named = [...FOLDERS.keys(), ...TESTS.keys(), ...[...FOLDERS.values(), ...TESTS.values()].flat()]
    fail(named.filter((name) => name !== ANY && !folders.has(name)).map((name) => `${name} is not a folder with code`))
  })

  it('are a partial order: a row names only folders of rows above it', () => {
    const above = new Set<string>()
    const problems: string[] = []
    for (const [folder, permitted] of FOLDERS) {
      const below = permitted.filter((name) => name !== ANY && !above.has(name))
      problems.push(...below.map((name) => `${folder} names ${name}: move its row below that one, or undo the cycle`))
      above.add(folder)
    }
    const unbounded = [...FOLDERS].filter(([, permitted]) => permitted.includes(ANY)).map(([folder]) => folder)
    const used = imports.filter(({ to }) => unbounded.includes(to))
    fail([...problems, ...used.map(({ file, to }) => `${file}: ${to} may import everything, so nothing imports it`)])
  })

  it('permit every import', () => {
    assert.ok(imports.length > 1000, 'the imports were found')
    const forbidden = imports.filter(({ from, to, isBesideTest }) => {
      const permitted = listPermitted(from, isBesideTest) ?? []
      return !permitted.includes(to) && !permitted.includes(ANY)
    })
    fail(
      forbidden.map(({ file, target, from, isBesideTest }) => {
        const [name, table] = isBesideTest ? (['TESTS', TESTS] as const) : (['FOLDERS', FOLDERS] as const)
        return `${file} may not import ${target}. To permit it, change the row in ${name} to:\n${rowFor(from, table)}`
      }),
    )
  })

  it('permit nothing that no import uses', () => {
    const unused = (table: Rules, name: string): string[] =>
      [...table].flatMap(([folder, permitted]) => {
        const used = new Set([...listUsed(folder, table === TESTS), ANY])
        const superfluous = permitted.filter((to) => !used.has(to) || (table === TESTS && isInRow(folder, to)))
        return superfluous.map((to) => `${name}: no import of ${folder} uses ${to}:\n${rowFor(folder, table)}`)
      })
    const isInRow = (folder: string, to: string): boolean => FOLDERS.get(folder)?.includes(to) === true
    fail([...unused(FOLDERS, 'FOLDERS'), ...unused(TESTS, 'TESTS')])
  })

  it('permit no crossing of a wall', () => {
    const production = imports.filter(({ isBesideTest }) => !isBesideTest)
    const problems = WALLS.flatMap(({ rule, from, to, except = [] }) =>
      production
        .filter((edge) => from.some((tree) => isWithin(edge.from, tree)) && to.some((tree) => isWithin(edge.to, tree)))
        .filter(({ file }) => !except.includes(file))
        .map(({ file, target }) => `${file} imports ${target}: ${rule}`),
    )
    fail(problems)
  })

  it('keep mta within 20 folders on 8 levels', () => {
    const count = [...FOLDERS.keys()].filter((folder) => isWithin(folder, 'mta')).length
    assert.ok(count <= 20, `${count} folders`)
    assert.ok(countLevels('mta') <= 8, `${countLevels('mta')} levels`)
  })
})
