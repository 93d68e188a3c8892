/**
 * Which requests are recorded in the audit log, and as whose. A changing route of a key, a person or the operator gets
 * a database that is attributed to the caller (src/stores/audit.ts), so its handler needs no code of its own. Public
 * routes are used by recipients, whose changes are events.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '#src/auth/keys.ts'
import type { SignedInUser } from '#src/people/user-sessions.ts'
import type { Actor } from '#src/stores/audit.ts'
import type { AnyRoute } from './route.ts'

const SENDS = 'sends mail: the message and its events are the record'
const READS = 'changes nothing: its result is only shown'

/** Routes with a changing method that write no entry, each with its reason. */
export const NOT_AUDITED: Readonly<Record<string, string>> = {
  'send-instant': SENDS,
  'send-high': SENDS,
  'send-async': SENDS,
  'send-bulk': SENDS,
  'send-batch': SENDS,
  'send-raw': SENDS,
  'schedule-email': SENDS,
  'resend-email': SENDS,
  'test-template': SENDS,
  'preview-template': READS,
  'preview-branding': READS,
  'check-template': READS,
  'preview-segment': READS,
  'dry-run-automation': READS,
  'admin-check-shaping': READS,
  'admin-replay-shaping': READS,
  'start-provider-link': 'the identity is attached when the browser comes back',
  'start-totp': 'stores nothing: confirm-totp does',
  'start-email-change': 'changes nothing: confirm-email does, when the new address is confirmed',
  'start-passkey': 'stores a challenge only: add-passkey is the change',
  'test-account': READS,
  'replay-received-email': 'raises an event: the event feed is the record',
  'test-webhook': 'sends a test event: the delivery log of the endpoint is the record',
}

export function isAudited(spec: AnyRoute): boolean {
  return spec.method !== 'GET' && spec.access !== 'public' && !Object.hasOwn(NOT_AUDITED, spec.name)
}

export interface AuditedRequest {
  readonly caller: Caller | null
  readonly person: SignedInUser | null
  readonly headers: IncomingHttpHeaders
  readonly address: string
  readonly requestId: string
}

/** The key or person; or the operator, who is a person or has the name that they give. */
export function actorOf(spec: AnyRoute, { caller, person, headers, address, requestId }: AuditedRequest): Actor {
  const common = { action: spec.name, address, requestId }
  if (person !== null) {
    const kind = spec.access === 'operator' ? 'operator' : 'user'
    return { ...common, kind, name: person.userId, workspaceId: caller?.workspaceId ?? null }
  }
  return caller === null
    ? { ...common, kind: 'operator', name: operatorOf({ person, headers }), workspaceId: null }
    : { ...common, kind: 'key', name: caller.keyId ?? '', workspaceId: caller.workspaceId }
}

/** The email address of a person who is signed in; else the header X-Operator, or `operator`. */
export function operatorOf({ person, headers }: Pick<AuditedRequest, 'person' | 'headers'>): string {
  if (person !== null) return person.email
  const header = headers['x-operator']
  return typeof header === 'string' && /^[\x20-\x7e]{1,100}$/.test(header) ? header : 'operator'
}
