/** A small SMTP server for tests. It accepts everything, except where an address names what is to happen. */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { certificateFor } from '#test/support/certificate.ts'
import { SUBMISSION_MAIL_PARAMETERS, SUBMISSION_RCPT_PARAMETERS } from './envelope-command.ts'
import { ReplyError } from './reply.ts'
import { SmtpServer, type SmtpHandlers, type SmtpServerOptions } from './smtp-server.ts'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** One character per octet. */
  readonly data: string
}

export interface TestSmtpServer {
  readonly server: SmtpServer<null>
  readonly listener: Server
  readonly port: number
  readonly mails: ReceivedMail[]
  /** How many messages were aborted. */
  aborted: number
  /** Errors that were logged. */
  readonly errors: unknown[]
  /** What was logged below that. */
  readonly notes: { readonly peer?: string }[]
  nowMs: number
}

const NO = new ReplyError(550, '5.7.1 No')

/** Some addresses are refused, some only later. */
export async function decide(address: string): Promise<ReplyError | null> {
  if (address.startsWith('later')) await sleep(5)
  if (address.startsWith('broken')) throw new Error('broken')
  return address.startsWith('no') ? NO : null
}

/** `password` is the only valid one. */
export async function startTestSmtpServer(
  options: Partial<SmtpServerOptions> = {},
  handlers: Partial<SmtpHandlers<null>> = {},
): Promise<TestSmtpServer> {
  const test = {
    mails: [] as ReceivedMail[],
    aborted: 0,
    errors: [] as unknown[],
    notes: [] as { peer?: string }[],
    nowMs: 0,
  }
  const server = new SmtpServer<null>(
    {
      name: 'mx.test',
      banner: 'test',
      certificate: await certificateFor(['mx.test']),
      mailParameters: SUBMISSION_MAIL_PARAMETERS,
      rcptParameters: SUBMISSION_RCPT_PARAMETERS,
      maxOctets: 100_000,
      maxRecipients: 5,
      maxConnections: 100,
      idleSeconds: 60,
      closeMs: 200,
      ...options,
    },
    {
      open: () => null,
      logIn: async (_session, password) => (password === 'password' ? null : NO),
      mailFrom: (_session, { address }) => decide(address),
      rcptTo: (_session, { address }) => (/^(?:later|broken)/.test(address) ? decide(address) : refusalOf(address)),
      data: (session) => {
        const chunks: Buffer[] = []
        return {
          write: (chunk) => chunks.push(chunk),
          end: async () => {
            const from = session.mailFrom?.address ?? ''
            const to = session.rcptTo.map(({ address }) => address)
            if (to.some((address) => address.startsWith('slow'))) await sleep(50)
            if (to.some((address) => address.startsWith('lost'))) throw new Error('lost')
            if (to.some((address) => address.startsWith('drop'))) return null
            test.mails.push({ from, to, data: Buffer.concat(chunks).toString('latin1') })
            return `2.6.0 mail ${test.mails.length}`
          },
          abort: () => {
            test.aborted++
          },
        }
      },
      ...handlers,
    },
    {
      clock: { now: () => test.nowMs },
      log: {
        debug: (note: { peer?: string }) => test.notes.push(note),
        warn: () => undefined,
        error: ({ err }: { err: unknown }) => test.errors.push(err),
      },
      proxyNetworks: [],
      admit: () => true,
    },
  )
  const listener = server.listen({ port: 0, host: '127.0.0.1' })
  await once(listener, 'listening')
  return Object.assign(test, { server, listener, port: (listener.address() as AddressInfo).port })
}

function refusalOf(address: string): ReplyError | null {
  return address.startsWith('no') ? NO : null
}
