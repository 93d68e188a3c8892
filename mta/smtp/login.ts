/**
 * SMTP authentication: AUTH PLAIN, LOGIN (RFC 4954, RFC 4616) or XOAUTH2, whichever the server offers. The conversation
 * record shows no secret, and no secret is sent to a server that offers none of these mechanisms. On failure the stage
 * is `auth` with the server's reply; the caller decides whether it concerns the credentials.
 */
import type { Reply } from '#src/mail/reply.ts'
import type { Capabilities } from './result.ts'
import type { Wire } from './wire.ts'

export type Credential =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** OAuth 2 */
  | { readonly kind: 'token'; readonly username: string; readonly token: string }

/** Null on success, else the server's refusal; its `reply` is null if the connection was lost. */
export type Login = (wire: Wire, offers: Capabilities) => Promise<{ readonly reply: Reply | null } | null>

/** A line to send, and how the record shows it. */
interface AuthLine {
  readonly line: string
  readonly shown: string
}

interface Mechanism {
  readonly name: string
  /** The first line, and the responses to the server's challenges. */
  readonly lines: (credential: Credential) => readonly AuthLine[] | null
}

const HIDDEN = '********'

/** In order of preference. */
const MECHANISMS: readonly Mechanism[] = [
  {
    name: 'XOAUTH2',
    lines: (credential) =>
      credential.kind === 'token'
        ? [hidden('AUTH XOAUTH2 ', `user=${credential.username}\x01auth=Bearer ${credential.token}\x01\x01`)]
        : null,
  },
  {
    name: 'PLAIN',
    lines: (credential) =>
      credential.kind === 'password'
        ? [hidden('AUTH PLAIN ', `\0${credential.username}\0${credential.password}`)]
        : null,
  },
  {
    name: 'LOGIN',
    lines: (credential) =>
      credential.kind === 'password'
        ? [
            { line: 'AUTH LOGIN', shown: 'AUTH LOGIN' },
            hidden('', credential.username),
            hidden('', credential.password),
          ]
        : null,
  },
]

function hidden(command: string, secret: string): AuthLine {
  return { line: command + Buffer.from(secret).toString('base64'), shown: command + HIDDEN }
}

export function createLogin(credential: Credential): Login {
  return async (wire, offers) => {
    const offered = MECHANISMS.filter(({ name }) => offers.auth.includes(name))
    const lines = offered.map((one) => one.lines(credential)).find((found) => found !== null)
    if (lines == null) {
      wire.lose(
        'protocol',
        `the server offers no supported AUTH mechanism: ${offers.auth.join(' ') || 'no AUTH'}`,
        'auth-not-offered',
      )
      return { reply: null }
    }
    return exchangeLines(wire, lines)
  }
}

async function exchangeLines(wire: Wire, lines: readonly AuthLine[]): Promise<{ reply: Reply | null } | null> {
  for (const [i, { line, shown }] of lines.entries()) {
    wire.send([line], [shown])
    const reply = await wire.readReply('auth')
    if (reply === null) return { reply }
    if (reply.code === 235) return null
    if (reply.code !== 334) return { reply }
    if (i < lines.length - 1) continue
    // XOAUTH2 sends an error as a challenge and its reply after an empty line; other challenges are not supported
    wire.send([''], [''])
    return { reply: await wire.readReply('auth') }
  }
  return null
}
