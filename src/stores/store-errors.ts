/**
 * Classifies errors of the stores. Unavailable: the statement is correct, and a later attempt may succeed, perhaps over
 * another connection. Refused: PostgreSQL does not accept a value, and a repetition changes nothing. Unsuitable: the
 * store answers, but cannot do what Mailstead needs; the operator must change something.
 */
import { DatabaseError } from 'pg'

/** The store works, but Mailstead must not use it. The message says what to do. */
export class UnsuitableStoreError extends Error {
  override readonly name = 'UnsuitableStoreError'
}

/** The clocks of this machine and of PostgreSQL differ too much for new work. */
export class ClockSkewError extends Error {
  override readonly name = 'ClockSkewError'
}

// The server shuts down, refuses connections, is starting, is read-only (a failover), is out of connections, memory or
// disk space, or cancelled a statement that took too long. The statement may or may not have been executed.
const UNAVAILABLE_SQLSTATES = /^(08|53|58|57014|57P0[1-5]|25006)/
// The session on the server is not the one that prepared the statement: a pooler gave the connection another one.
const FOREIGN_SESSION_SQLSTATES = new Set(['26000', '42P05'])
const UNAVAILABLE_ERRNO = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
const CONNECTION_ERROR = new RegExp(
  '^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error' +
    '|Client was closed|Cannot use a pool after calling end|timeout expired)',
)

export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  return (
    error instanceof UnsuitableStoreError ||
    error instanceof ClockSkewError ||
    UNAVAILABLE_SQLSTATES.test(code) ||
    UNAVAILABLE_ERRNO.has(code) ||
    isForeignSession(error) ||
    isPartitionMissing(error) ||
    isSocketMissing(error, code) ||
    CONNECTION_ERROR.test(error.message)
  )
}

/** Another row has the value that the constraint allows once. */
export function isDuplicate(error: unknown, constraint: string): boolean {
  return error instanceof DatabaseError && error.code === '23505' && error.constraint === constraint
}

/** A prepared statement is missing in the session, or there twice: a pooler shares the session with others. */
export function isForeignSession(error: unknown): boolean {
  return error instanceof DatabaseError && FOREIGN_SESSION_SQLSTATES.has(error.code ?? '')
}

/** The week of a row has no partition: no worker has created it yet, or the clock of its process is wrong. */
function isPartitionMissing(error: Error): boolean {
  return codeOf(error) === '23514' && error.message.startsWith('no partition of relation')
}

/**
 * A socket file that does not exist: its server is not running. ENOENT for any other file is a bug or a wrong setting.
 */
function isSocketMissing(error: Error, code: string): boolean {
  return code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect'
}

// values that a column cannot store, violated constraints, and more than a row or statement may contain
const REFUSED_SQLSTATES = /^(22|23|54)/

/** PostgreSQL does not accept a value of the statement. */
export function isValueRefused(error: unknown): boolean {
  return error instanceof DatabaseError && REFUSED_SQLSTATES.test(error.code ?? '') && !isPartitionMissing(error)
}

/** PostgreSQL rejected the statement, or is unavailable. Any other error is a bug of this program. */
export function isStoreError(error: unknown): boolean {
  return error instanceof DatabaseError || isUnavailable(error)
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
