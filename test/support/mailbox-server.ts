/**
 * An SMTP server of a mailbox provider (smtp-server): TLS or STARTTLS with a certificate, AUTH by password or access
 * token, and mail only after AUTH. Tests can change its replies while it runs.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerAuthenticationResponse, type SMTPServerOptions } from 'smtp-server'
import { certificateFor } from './certificate.ts'

export interface MailboxServer {
  readonly port: number
  /** PEM of the authority of its certificate. */
  readonly ca: string
  readonly messages: readonly {
    readonly from: string
    readonly to: readonly string[]
    readonly user: string
    readonly data: string
  }[]
  /** Authentication attempts, successful or not, by mechanism. */
  readonly logins: readonly { readonly method: string; readonly ok: boolean }[]
  /** Connections so far. */
  readonly connections: number
  /** By user name. */
  readonly passwords: Map<string, string>
  /** Said to MAIL FROM, or to the message, instead of yes. */
  refusal: { at: 'mail' | 'data'; code: number; text: string } | null
  stop(): Promise<void>
}

interface MailboxServerOptions {
  /** The name in its certificate. */
  readonly name: string
  readonly isImplicitTls?: boolean
  readonly methods?: readonly string[]
  /** Whose access token this is. */
  readonly ownerOf?: (token: string) => Promise<string | null>
}

const METHODS = ['PLAIN', 'LOGIN', 'XOAUTH2']
type Auth = Parameters<NonNullable<SMTPServerOptions['onAuth']>>[0]

export async function startMailboxServer({
  name,
  isImplicitTls = false,
  methods = METHODS,
  ownerOf,
}: MailboxServerOptions): Promise<MailboxServer> {
  const certificate = await certificateFor([name])
  const messages: MailboxServer['messages'][number][] = []
  const logins: MailboxServer['logins'][number][] = []
  const state = { connections: 0, passwords: new Map<string, string>(), refusal: null as MailboxServer['refusal'] }

  async function checkCredentials({ method, username = '', password, accessToken }: Auth): Promise<boolean> {
    if (method === 'XOAUTH2') return ownerOf !== undefined && (await ownerOf(accessToken ?? '')) === username
    return state.passwords.has(username) && state.passwords.get(username) === password
  }
  const refusalAt = (at: 'mail' | 'data'): Error | null => {
    const { refusal } = state
    return refusal?.at === at ? Object.assign(new Error(refusal.text), { responseCode: refusal.code }) : null
  }

  const server = new SMTPServer({
    secure: isImplicitTls,
    key: certificate.key,
    cert: certificate.cert,
    authMethods: [...methods],
    authOptional: false,
    disableReverseLookup: true,
    logger: false,
    onConnect: (_session, done) => {
      state.connections++
      done()
    },
    onAuth: (auth, _session, done) =>
      void checkCredentials(auth).then((ok) =>
        setImmediate(() => {
          logins.push({ method: auth.method, ok })
          const refused: SMTPServerAuthenticationResponse = {
            data: { status: '401', schemes: 'bearer', scope: 'mail' },
          }
          const error = Object.assign(new Error('5.7.8 Username and password not accepted'), { responseCode: 535 })
          done(ok || auth.method === 'XOAUTH2' ? null : error, ok ? { user: auth.username } : refused)
        }),
      ),
    onMailFrom: (_address, _session, done) => done(refusalAt('mail')),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const refused = refusalAt('data')
        const { mailFrom, rcptTo } = session.envelope
        if (refused === null) {
          messages.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            user: String(session.user),
            data: Buffer.concat(chunks).toString('latin1'),
          })
        }
        done(refused)
      })
    },
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return Object.assign(state, {
    port: (server.server.address() as AddressInfo).port,
    ca: certificate.cert,
    messages,
    logins,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(resolve)
      }),
  })
}
