/**
 * The kinds of steps that a migration consists of. Each blocks other sessions for well under a second, however large
 * its tables are: what lasts for long holds no lock that a reader or a writer waits for. A step that failed or whose
 * process died is repeated by the next `mailstead migrate`; a finished one is not (migration-runner.ts).
 */
import type { Knex } from 'knex'
import type { MigrationSession } from './migration-session.ts'
import { sql } from './sql.ts'

export interface MigrationStep {
  /** For `upgrade --plan` and progress: `build index recipients_open on recipients`. */
  readonly describe: string
  /** Its SQL, for the rules of migrations (migrations/rules.test.ts) and for what undoing it deletes. */
  readonly sql: string
  /** Whether it may run for long. It blocks nobody meanwhile. */
  readonly isLong: boolean
  /** `note` records the step as finished, in the transaction that it is called with. */
  run(session: MigrationSession, note: (tx: StepTransaction) => Promise<void>): Promise<void>
}

/** Runs statements in one transaction. A question mark is a parameter. */
export interface StepTransaction {
  query(statement: string, values?: readonly string[]): Promise<unknown>
  readonly knex: Knex
}

/** Statements that change the catalogue only, in one transaction: they hold strong locks, but not for long. */
export function brief(statements: string, describe = firstLine(statements)): MigrationStep {
  return {
    describe,
    sql: statements,
    isLong: false,
    run: (session, note) =>
      session.brief(async (tx) => {
        await tx.query(statements)
        await note(tx)
      }),
  }
}

/** Statements in one transaction that may last for long. They read and write rows, and no statement locks a table. */
export function unlocked(statements: string, describe = firstLine(statements)): MigrationStep {
  return {
    describe,
    sql: statements,
    isLong: true,
    run: (session, note) =>
      session.unlocked(async (tx) => {
        await tx.query(statements)
        await note(tx)
      }),
  }
}

/** An UPDATE, INSERT or DELETE that is limited to some thousand rows, repeated until it changes none. */
export function batches(statement: string, describe = firstLine(statement)): MigrationStep {
  return {
    describe,
    sql: statement,
    isLong: true,
    run: async (session, note) => {
      while ((await session.change(statement)) > 0);
      await session.unlocked(note)
    },
  }
}

/** Checks the rows of a table against a constraint that was added as NOT VALID. */
export function validate(table: string, constraint: string): MigrationStep {
  return unlocked(
    `ALTER TABLE ${table} VALIDATE CONSTRAINT ${constraint}`,
    `check the rows of ${table} against ${constraint}`,
  )
}

export interface IndexDefinition {
  readonly table: string
  readonly name: string
  /** What follows the name of the table: `(tier, due_at) WHERE is_open`. */
  readonly on: string
  readonly isUnique?: boolean
}

/** Builds an index while rows are written; on a partitioned table one partition after the other. */
export function buildIndex(index: IndexDefinition): MigrationStep {
  return {
    describe: `build index ${index.name} on ${index.table}`,
    sql: `CREATE ${uniqueWord(index)}INDEX CONCURRENTLY ${index.name} ON ${index.table} ${index.on}`,
    isLong: true,
    run: async (session, note) => {
      const partitions = await session.partitionsOf(index.table)
      await (partitions === null ? buildOne(session, index) : buildPartitioned(session, index))
      await session.unlocked(note)
    },
  }
}

async function buildPartitioned(session: MigrationSession, index: IndexDefinition): Promise<void> {
  // partitions that are created from here on have the index from the start
  await session.brief((tx) =>
    tx.query(`CREATE ${uniqueWord(index)}INDEX IF NOT EXISTS ${index.name} ON ONLY ${index.table} ${index.on}`),
  )
  for (;;) {
    const [partition] = await session.partitionsWithout(index)
    if (partition === undefined) return
    const name = `${partition}_${index.name}`.slice(0, MAX_NAME)
    try {
      await buildOne(session, { ...index, table: partition, name })
      await session.brief((tx) => tx.query(`ALTER INDEX ${index.name} ATTACH PARTITION ${name}`))
    } catch (error) {
      // housekeeping may have removed the partition meanwhile
      if ((await session.partitionsWithout(index)).includes(partition)) throw error
    }
  }
}

const MAX_NAME = 63

async function buildOne(session: MigrationSession, { name, table, on, isUnique }: IndexDefinition): Promise<void> {
  const state = await session.indexState(name)
  if (state === 'valid') return
  // what an interrupted build has left
  if (state === 'invalid') await session.outside(`DROP INDEX CONCURRENTLY ${name}`)
  const create = (mode: string): string => `CREATE ${uniqueWord({ isUnique })}INDEX ${mode}${name} ON ${table} ${on}`
  if (await session.isEmpty(table)) await session.brief((tx) => tx.query(create('')))
  else await session.outside(create('CONCURRENTLY '))
}

const uniqueWord = ({ isUnique = false }: { readonly isUnique?: boolean | undefined }): string =>
  isUnique ? 'UNIQUE ' : ''

/** Puts a new index under the name of an old one, which is removed. */
export function replaceIndex(index: IndexDefinition): readonly MigrationStep[] {
  const built = `${index.name}_next`
  return [
    buildIndex({ ...index, name: built }),
    brief(
      sql`
        DROP INDEX ${index.name};
        ALTER INDEX ${built} RENAME TO ${index.name};
        DO $body$
        DECLARE
          part text;
        BEGIN
          FOR part IN
            SELECT c.relname
            FROM pg_inherits i
            JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = '${index.name}'::regclass AND c.relname LIKE '%\\_next'
          LOOP
            EXECUTE format('ALTER INDEX %I RENAME TO %I', part, left(part, -length('_next')));
          END LOOP;
        END $body$;
      `,
      `replace index ${index.name}`,
    ),
  ]
}

function firstLine(statements: string): string {
  const line = statements.split('\n').find((text) => text.trim() !== '' && !text.trim().startsWith('--')) ?? ''
  return line.trim().replace(/[;( ]+$/, '')
}
