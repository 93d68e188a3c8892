/**
 * The SQL of a migration without a database, for rules and plans: the statements of its steps, or those that its `up`
 * or `down` would run.
 */
import type { Knex } from 'knex'
import type { MigrationModule } from './migration-runner.ts'

/** The statements that apply a migration. */
export function upSql({ steps, up }: MigrationModule): Promise<string> {
  return steps === undefined ? record(up) : Promise.resolve(steps.map((step) => step.sql).join(';\n'))
}

/** The statements that undo it. */
export function downSql({ undo, down }: MigrationModule): Promise<string> {
  return undo === undefined ? record(down) : Promise.resolve(undo.map((step) => step.sql).join(';\n'))
}

async function record(work: MigrationModule['up']): Promise<string> {
  const statements: string[] = []
  const recorder = {
    raw: (statement: string) => {
      statements.push(statement)
      return Promise.resolve({ rows: [] })
    },
  }
  await work?.(recorder as unknown as Knex)
  return statements.join(';\n')
}

/** What statements delete for good: `table nodes`, `column leases.node`, `rows of audit_log`. */
export function findLosses(statements: string): string[] {
  return statements
    .replaceAll(/\$body\$.*?\$body\$/gs, '')
    .split(';')
    .flatMap((statement) => LOSSES.flatMap((find) => find(statement)))
}

const LOSSES: readonly ((statement: string) => string[])[] = [
  (statement) => {
    const [, names = ''] = /\bDROP TABLE (?:IF EXISTS )?([\w,\s]+?)(?: CASCADE)?\s*$/i.exec(statement) ?? []
    return names.split(',').flatMap((name) => (name.trim() === '' ? [] : [`table ${name.trim()}`]))
  },
  (statement) => {
    const [, table, changes = ''] = /\bALTER TABLE (\w+)\s+(.*)/is.exec(statement) ?? []
    return [...changes.matchAll(/\bDROP (?:COLUMN )?(?!COLUMN|CONSTRAINT|DEFAULT|NOT\b)(\w+)/gi)].map(
      ([, column = '']) => `column ${table}.${column}`,
    )
  },
  (statement) => {
    const [, table] = /^\s*DELETE FROM (\w+)/i.exec(statement) ?? []
    return table === undefined ? [] : [`rows of ${table}`]
  },
]
