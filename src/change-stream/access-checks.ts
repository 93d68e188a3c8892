/**
 * Ends the streams of callers that lost their right to read: a key that was revoked or expired, a session that ended, a
 * workspace that was suspended, a scope that was removed. Each credential is checked every second, however many streams
 * it has, by the function that its route gives; so a stream ends within a second or two. While the answer is unknown,
 * because PostgreSQL is away, streams stay open: without PostgreSQL they carry nothing.
 */
import type { ClientRegistry } from './client-registry.ts'
import { frameOf } from './stream-frames.ts'
import type { ChangeTopic } from './topics.ts'

export interface StreamAccess {
  /** Whose streams are limited together: a key, a session, the operator token. No secret. */
  readonly holder: string
  /** Names what the request presented: secret and address. Streams with the same are checked together. No secret. */
  readonly credential: string
  /**
   * Which topics the caller may read now; null: none, for the credential is no longer valid.
   * @throws while that is unknown.
   */
  check(): Promise<((topic: ChangeTopic) => boolean) | null>
}

export interface AccessChecks {
  add(access: StreamAccess): void
  /** Checks all credentials, unless the last checks are still running. */
  run(): void
}

export function createAccessChecks({ credentials }: Pick<ClientRegistry, 'credentials'>): AccessChecks {
  const known = new Map<string, StreamAccess>()
  let isRunning = false

  async function checkOne(access: StreamAccess): Promise<void> {
    const { credential } = access
    if (!credentials.has(credential)) known.delete(credential)
    const mayRead = await access.check().catch(() => () => true)
    for (const client of credentials.get(credential) ?? [])
      if (mayRead === null) client.end(frameOf('closed', { reason: 'the credential is no longer valid' }))
      else if (![...client.topics].every(mayRead))
        client.end(frameOf('closed', { reason: 'the credential may no longer read all of these topics' }))
  }

  return {
    add: (access) => void known.set(access.credential, access),
    run: () => {
      if (isRunning) return
      isRunning = true
      // at once: keys are in a cache, and sessions share a statement (src/people/session-checks.ts)
      void Promise.all([...known.values()].map(checkOne)).finally(() => (isRunning = false))
    },
  }
}
