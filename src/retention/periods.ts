/**
 * How long mail is stored: by the settings, or by a rule for a plan or a workspace. The rule of a workspace comes
 * before that of its plan, field by field. Rules are rows, so every worker applies the same ones; a change applies to
 * the mail that is stored already, within the day.
 */
import type { Config } from '#config/load.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** In days. A body is never stored longer than its message. */
export interface RetentionPeriods {
  readonly bodies: number
  readonly events: number
  readonly messages: number
}

export const PERIOD_NAMES = ['bodies', 'events', 'messages'] as const satisfies readonly (keyof RetentionPeriods)[]
export type PeriodName = (typeof PERIOD_NAMES)[number]

/** The shortest periods: bounces, complaints and repeated webhooks arrive for days. */
export const LEAST_DAYS: RetentionPeriods = { bodies: 1, events: 7, messages: 7 }
export const MOST_DAYS = 36_500

/** A plan, or one workspace. */
export type RuleSubject = { readonly plan: string } | { readonly workspaceId: string }

export interface RetentionRule {
  readonly plan: string | null
  readonly workspaceId: string | null
  /** Null: that of the plan, or the setting. */
  readonly bodies: number | null
  readonly events: number | null
  readonly messages: number | null
}

export type RuleChange = { readonly [Name in PeriodName]?: number | null | undefined }

/** The periods of an installation without rules. */
export function defaultPeriods(
  config: Pick<Config, 'bodyRetentionDays' | 'eventRetentionDays' | 'messageRetentionDays'>,
): RetentionPeriods {
  const messages = config.messageRetentionDays
  return { bodies: Math.min(config.bodyRetentionDays, messages), events: config.eventRetentionDays, messages }
}

/**
 * SQL: the periods of each workspace, as (workspace_id, bodies, events, messages). `first` is the number of the first
 * of the three parameters of `periodParameters`.
 */
export function periodsSql(first: number): string {
  const days = (name: PeriodName, i: number): string =>
    `coalesce(own.${name}_days, of_plan.${name}_days, $${first + i}::integer)`
  const [bodies, events, messages] = [days('bodies', 0), days('events', 1), days('messages', 2)]
  return sql`
    SELECT w.id AS workspace_id, least(${bodies}, ${messages}) AS bodies, ${events} AS events, ${messages} AS messages
    FROM workspaces w
    LEFT JOIN retention_rules of_plan ON of_plan.plan = w.plan
    LEFT JOIN retention_rules own ON own.workspace_id = w.id`
}

export function periodParameters({ bodies, events, messages }: RetentionPeriods): readonly number[] {
  return [bodies, events, messages]
}

/** Null: there is no such workspace. */
export async function readPeriods(
  db: Queryable,
  defaults: RetentionPeriods,
  workspaceId: string,
): Promise<RetentionPeriods | null> {
  const { rows } = await db.query<RetentionPeriods>(
    `SELECT bodies, events, messages FROM (${periodsSql(2)}) p WHERE workspace_id = $1`,
    [workspaceId, ...periodParameters(defaults)],
  )
  return rows[0] ?? null
}

/** The longest period of any workspace; without workspaces that of the settings. */
export async function readLongestPeriods(db: Queryable, defaults: RetentionPeriods): Promise<RetentionPeriods> {
  const { rows } = await db.query<{ [Name in PeriodName]: number | null }>(
    sql`
      SELECT max(bodies) AS bodies, max(events) AS events, max(messages) AS messages
      FROM (${periodsSql(1)}) p
    `,
    periodParameters(defaults),
  )
  const { bodies, events, messages } = rows[0] ?? {}
  return {
    bodies: bodies ?? defaults.bodies,
    events: events ?? defaults.events,
    messages: messages ?? defaults.messages,
  }
}

const RULE_COLUMNS = sql`
  plan, workspace_id AS "workspaceId", bodies_days AS bodies, events_days AS events, messages_days AS messages
`

/** Those of plans first. */
export async function listRules(db: Queryable): Promise<RetentionRule[]> {
  return (
    await db.query<RetentionRule>(
      `SELECT ${RULE_COLUMNS} FROM retention_rules ORDER BY plan NULLS LAST, workspace_id LIMIT 10000`,
    )
  ).rows
}

/** Changes the given periods; null returns one to the plan or the setting. The caller has validated them. */
export async function saveRule(db: Queryable, subject: RuleSubject, change: RuleChange): Promise<RetentionRule> {
  const [column, value] = 'plan' in subject ? ['plan', subject.plan] : ['workspace_id', subject.workspaceId]
  const given = PERIOD_NAMES.filter((name) => change[name] !== undefined)
  // without a change the row is still returned
  const updates = [`${column} = excluded.${column}`, ...given.map((name) => `${name}_days = excluded.${name}_days`)]
  const { rows } = await db.query<RetentionRule>(
    sql`
      INSERT INTO retention_rules (${column}, bodies_days, events_days, messages_days)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (${column})
      DO UPDATE SET ${updates.join(', ')}
      RETURNING ${RULE_COLUMNS}
    `,
    [value, ...PERIOD_NAMES.map((name) => change[name] ?? null)],
  )
  const [rule] = rows
  if (rule === undefined) throw new Error('the retention rule was not stored')
  return rule
}

/** False if there is none. */
export async function deleteRule(db: Queryable, subject: RuleSubject): Promise<boolean> {
  const [column, value] = 'plan' in subject ? ['plan', subject.plan] : ['workspace_id', subject.workspaceId]
  return ((await db.query(`DELETE FROM retention_rules WHERE ${column} = $1`, [value])).rowCount ?? 0) > 0
}

/** Why these days cannot be stored; null if they can. */
export function problemWithDays(name: PeriodName, days: number): string | null {
  const least = LEAST_DAYS[name]
  return Number.isInteger(days) && days >= least && days <= MOST_DAYS
    ? null
    : `must be a whole number of days from ${least} to ${MOST_DAYS}`
}
