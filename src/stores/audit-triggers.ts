/** The triggers of the audit log, for migrations that create a table whose changes are recorded. */
import { sql } from './sql.ts'

const EVENTS = [
  ['insert', 'NEW TABLE AS added'],
  ['update', 'OLD TABLE AS removed NEW TABLE AS added'],
  ['delete', 'OLD TABLE AS removed'],
] as const

/**
 * SQL: records each change of a table. `args` are the arguments of the SQL function `audit_changes`: the kind of the
 * object, its key, and the columns that are shown.
 */
export function auditTriggers(table: string, args: string): string {
  return EVENTS.map(
    ([event, tables]) => sql`
      CREATE TRIGGER audit_${event} AFTER ${event} ON ${table} REFERENCING ${tables}
      FOR EACH STATEMENT WHEN (coalesce(current_setting('mailstead.actor', true), '') <> '')
      EXECUTE FUNCTION audit_changes(${args});
    `,
  ).join('\n')
}
