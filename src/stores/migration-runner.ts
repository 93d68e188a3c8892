/**
 * Runs the steps of one migration and records each, in its own transaction, in `migration_steps`: a migration that was
 * interrupted continues with the step that was not finished. A migration without `steps` is one step: its `up`.
 */
import type { Knex } from 'knex'
import type { MigrationSession } from './migration-session.ts'
import type { MigrationStep } from './migration-steps.ts'
import { sql } from './sql.ts'

/** What a file of `migrations/` exports: `up` and `down`, or `steps` and `undo`; and why it cannot be undone. */
export interface MigrationModule {
  readonly up?: (knex: Knex) => Promise<void>
  readonly down?: (knex: Knex) => Promise<void>
  readonly steps?: readonly MigrationStep[]
  readonly undo?: readonly MigrationStep[]
  /** Why it cannot be undone, and what to do instead. */
  readonly cannotUndo?: string
  /** Of a contract migration: the first version that does without what it removes. */
  readonly unusedSince?: string
}

export type StepListener = (event: {
  readonly migration: string
  readonly step: string
  readonly index: number
  readonly of: number
}) => void

/** Knex's own tables are no migration either. */
export const CREATE_STEP_TABLE = sql`
  CREATE TABLE IF NOT EXISTS migration_steps (
    migration text NOT NULL,
    step text NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (migration, step)
  )
`

/** The steps that apply a migration. */
export function stepsOf({ steps, up }: MigrationModule): readonly MigrationStep[] {
  return steps ?? [asStep('up', up)]
}

/** The steps that undo it. @throws if it cannot be undone. */
export function undoStepsOf({ undo, down, cannotUndo }: MigrationModule): readonly MigrationStep[] {
  if (cannotUndo !== undefined) throw new Error(cannotUndo)
  return undo ?? [asStep('down', down)]
}

function asStep(name: string, work: MigrationModule['up']): MigrationStep {
  if (work === undefined) throw new Error(`the migration has no ${name}`)
  return {
    describe: name,
    sql: '',
    isLong: false,
    run: (session, note) =>
      session.brief(async (tx) => {
        await work(tx.knex)
        await note(tx)
      }),
  }
}

/** Precedes the name of a migration in the records of undone steps. */
export const UNDO = 'undo '

const FORGET_APPLIED = 'DELETE FROM migration_steps WHERE migration = ?'
const FINISHED = 'SELECT step FROM migration_steps WHERE migration = ?'

/** Runs the steps that are not recorded. Undoing a step deletes the record of those that were applied. */
export async function runSteps(
  session: MigrationSession,
  migration: string,
  steps: readonly MigrationStep[],
  onStep: StepListener = () => undefined,
): Promise<void> {
  const { rows } = await session.knex.raw<{ rows: { step: string }[] }>(FINISHED, [migration])
  const finished = new Set(rows.map(({ step }) => step))
  for (const [index, step] of steps.entries()) {
    const name = `${index + 1}: ${step.describe}`
    if (finished.has(name)) continue
    onStep({ migration, step: step.describe, index: index + 1, of: steps.length })
    await step.run(session, async (tx) => {
      if (migration.startsWith(UNDO)) await tx.query(FORGET_APPLIED, [migration.slice(UNDO.length)])
      await tx.query('INSERT INTO migration_steps (migration, step) VALUES (?, ?)', [migration, name])
    })
  }
}
