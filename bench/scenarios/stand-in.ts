/**
 * Replaces Mailstead in the tests of the scenarios: an HTTP server that responds
 * with 200, an SMTP server that accepts everything, and a queue in memory that is
 * sent to the routed sink while `mta` is started. It neither signs nor stores
 * messages; `lose` and `duplicate` name a message that it loses or sends twice.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { createLoad } from '#bench/harness/load.ts'
import type { Mailstead } from '#bench/harness/mailstead.ts'
import { SITE } from '#bench/harness/smtp-load.ts'
import { createEncryption } from '#src/crypto/encryption.ts'

export interface StandInFaults {
  readonly lose?: number
  readonly duplicate?: number
}

/** PEM. */
interface StandInCertificate {
  readonly key: string
  readonly cert: string
}

interface QueuedMail {
  readonly to: string
  readonly text: string
}

/** Of a message by SMTP. */
interface StandInTransaction {
  readonly isTls: boolean
  readonly isLoggedIn: boolean
}

export interface StandInMailstead extends Mailstead {
  readonly transactions: readonly StandInTransaction[]
  close(): Promise<void>
}

/** `certificate`: of its SMTP server. */
export async function startStandIn(
  { lose, duplicate }: StandInFaults,
  certificate: StandInCertificate,
): Promise<StandInMailstead> {
  const queue: QueuedMail[] = []
  let routes: Readonly<Record<string, number | string>> | null = null
  let next = 1
  const flush = async (): Promise<void> => {
    for (let mail = routes === null ? undefined : queue.shift(); mail !== undefined; mail = queue.shift()) {
      const copies = numberIn(mail) === lose ? 0 : numberIn(mail) === duplicate ? 2 : 1
      for (let copy = 0; copy < copies; copy++) await deliver(routes ?? {}, mail)
    }
  }
  const accept = (mail: QueuedMail): void => {
    queue.push(mail)
    void flush()
  }
  const api = await serve(accept)
  const transactions: StandInTransaction[] = []
  const submission = await serveSmtp(certificate, accept, transactions)
  const target = { port: (api.address() as AddressInfo).port, key: 'key' }
  const load = createLoad()
  const batch = { target, path: '/', sender: 'sender@bench.example', site: SITE }
  return {
    describe: 'stand-in',
    submissionPort: (submission.server.address() as AddressInfo).port,
    transactions,
    workspaceId: '',
    admin: { url: '', key: '' },
    key: '',
    createWorkspaces: () => Promise.resolve([]),
    dkimRecords: {},
    encryption: createEncryption(Buffer.alloc(32)),
    load: { ...load, pid: process.pid, end: async () => {} },
    groups: () => ({}),
    start: async (names, map) => {
      if (!names.includes('mta')) return
      routes = map
      void flush()
    },
    stop: async (...names) => {
      if (names.includes('mta')) routes = null
    },
    watchLockWaits: async () => async () => ({ writes: 0, lockMs: 0, internalMs: 0 }),
    reserve: (count) => (next += count) - count,
    post: (_tier, { from, count }) => load.post({ ...batch, from, count }, 5),
    probe: ({ intervalMs, ...options }) => load.probe({ ...batch, ...options }, intervalMs / 10),
    close: async () => {
      api.close()
      submission.close()
      await Promise.all([once(api, 'close'), once(submission.server, 'close')])
    },
  }
}

async function serve(onMail: (mail: QueuedMail) => void): Promise<Server> {
  const server = createServer((request, response) => {
    let json = ''
    request.on('data', (chunk: Buffer) => {
      json += chunk.toString()
    })
    request.on('end', () => {
      const {
        to: [to = ''],
        text,
      } = JSON.parse(json) as { to: string[]; text: string }
      onMail({ to, text })
      response.end('{"success":true}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function serveSmtp(
  certificate: StandInCertificate,
  onMail: (mail: QueuedMail) => void,
  transactions: StandInTransaction[],
): Promise<SMTPServer> {
  const server = new SMTPServer({
    ...certificate,
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: ({ username = '' }, _session, reply) => reply(null, { user: username }),
    onData: (stream, { secure, user, envelope: { rcptTo } }, reply) => {
      transactions.push({ isTls: secure, isLoggedIn: Boolean(user) })
      stream.resume().on('end', () => {
        rcptTo.forEach(({ address }) => onMail({ to: address, text: '' }))
        reply()
      })
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return server
}

/** Sends one message on a new connection, with all commands pipelined. */
async function deliver(routes: Readonly<Record<string, number | string>>, { to, text }: QueuedMail): Promise<void> {
  const socket = connect(Number(routes[to.slice(to.indexOf('@') + 1)] ?? routes['*']), '127.0.0.1')
  socket.resume()
  const message = `DKIM-Signature: none\n\n${text}`.split('\n')
  socket.write(['EHLO a', 'MAIL FROM:<>', `RCPT TO:<${to}>`, 'DATA', ...message, '.', 'QUIT', ''].join('\r\n'))
  await once(socket, 'close')
}

function numberIn({ to }: QueuedMail): number {
  return Number(/\d+/.exec(to)?.[0])
}
