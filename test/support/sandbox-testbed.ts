/** A sandbox with a database of its own, a clock that tests can move, and a client that sends mail to it. */
import { randomBytes } from 'node:crypto'
import { loadConfig } from '#config/load.ts'
import { startSandbox, type Sandbox } from '#mta/sandbox/sandbox.ts'
import type { Context } from '#src/context.ts'
import { createEncryption, type Encryption } from '#src/crypto/encryption.ts'
import { openLog } from '#src/platform/log.ts'
import { findInboxMail, listInbox, type InboxMail } from '#src/sandbox/inbox.ts'
import { openDb } from '#src/stores/db.ts'
import { submitMessage } from './smtp-connection.ts'
import { createDatabase } from './stores.ts'

export const SANDBOX_MAIL =
  'From: Ann <ann@sender.example>\r\nTo: bob@a.test\r\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHello\r\n'

export interface SandboxTestbed {
  readonly ctx: Omit<Context, 'redis'>
  readonly sandbox: Sandbox
  /** Moves the clock. */
  advance(ms: number): void
  /** One mail in plain text; the replies, the last that of the message. */
  send(mail?: { from?: string; to?: string; content?: string | Buffer }): Promise<string[]>
  /** The last mail that was stored. */
  last(): Promise<InboxMail | null>
  /** How many mails are stored. */
  count(): Promise<number>
  /** Deletes what is stored. */
  empty(): Promise<void>
  close(): Promise<void>
}

/** `encryption` signs the return-paths that the sandbox recognizes. */
export async function createSandboxTestbed(
  encryption: Encryption = createEncryption(randomBytes(32)),
): Promise<SandboxTestbed> {
  const log = openLog({ logLevel: 'silent' }, 'test')
  const database = await createDatabase()
  const db = openDb(database.url, log)
  const config = loadConfig({ SANDBOX_DNS_PORT: '0', SANDBOX_SMTP_PORT: '0', MAX_MESSAGE_BYTES: '100000' })
  let now = Date.now()
  const ctx = { config, db, log, encryption, clock: { now: () => now }, tracer: null }
  const sandbox = await startSandbox(ctx)
  return {
    ctx,
    sandbox,
    advance: (ms) => {
      now += ms
    },
    send: (mail = {}) =>
      submitMessage(sandbox.smtpPort, {
        from: 'sender@bounces.test',
        to: 'bob@a.test',
        content: SANDBOX_MAIL,
        ...mail,
      }),
    last: () => findInboxMail(db, 'last'),
    count: async () => (await listInbox(db, 1000)).length,
    empty: async () => {
      await db.query('TRUNCATE sandbox_inbox')
    },
    close: async () => {
      await sandbox.stop()
      await db.close()
      await database.drop()
    },
  }
}
