/**
 * Who changes the database: a key, a person who is signed in, the operator, a command, the owner of a mailbox who
 * connects it, or a schedule.
 * `Db.attributedTo` names the actor in every transaction, and the triggers of migrations/035-audit-log.ts write the
 * change to `audit_log` in the same transaction, so no change is without its entry and no entry without its change.
 * Tables that are too busy for triggers, such as messages, need `recordChange`.
 */
import type { Queryable } from './db.ts'
import { sql } from './sql.ts'

export interface Actor {
  /**
   * `user`: a person who is signed in; on endpoints of the operator they are `operator`. `mailbox`: the owner of a
   * mailbox, who connected it by signing in. `schedule`: the worker, by a setting.
   */
  readonly kind: 'key' | 'user' | 'operator' | 'cli' | 'mailbox' | 'schedule'
  /**
   * The id of the key or user, the name of the operator or the id of their user, the user and host of the command, the
   * address of the mailbox, or the name of the setting.
   */
  readonly name: string
  /** The name of the route, or the words of the command. */
  readonly action: string
  /** The workspace of the key or mailbox. */
  readonly workspaceId: string | null
  /** The client's IP address; null for a command. */
  readonly address: string | null
  readonly requestId: string | null
}

export interface RecordedChange {
  /** What the object is, such as `mail`. */
  readonly kind: string
  readonly object: string
  readonly workspaceId: string
  readonly change: 'create' | 'update' | 'delete'
  /** The changed values; never a secret. */
  readonly before: object | null
  readonly after: object | null
}

/** Writes an entry, in the transaction of the change. Does nothing if the transaction is attributed to nobody. */
export async function recordChange(tx: Queryable, change: RecordedChange): Promise<void> {
  await tx.query(sql`SELECT record_audit($1, $2, $3, $4, $5::jsonb, $6::jsonb)`, [
    change.kind,
    change.object,
    change.workspaceId,
    change.change,
    change.before === null ? null : JSON.stringify(change.before),
    change.after === null ? null : JSON.stringify(change.after),
  ])
}
