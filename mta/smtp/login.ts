/**
 * Signing in at a server that takes mail from its own users: AUTH PLAIN, LOGIN (RFC 4954, RFC 4616) or XOAUTH2, by what the server offers.
 * Promises: nothing secret is said that the record shows, and nothing secret is said at all to a server that offers no mechanism of ours.
 * On failure: the stage `auth` with the server's answer; whether that is about the credentials is for the caller to say.
 */
import type { Reply } from '#src/mail/reply.ts'
import type { Capabilities } from './capabilities.ts'
import type { Wire } from './wire.ts'

export type Credential =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** OAuth 2 */
  | { readonly kind: 'token'; readonly username: string; readonly token: string }

/** Null when it went well, else the answer that stopped it; null in it when the connection was lost. */
export type Login = (wire: Wire, offers: Capabilities) => Promise<{ readonly reply: Reply | null } | null>

/** A line that is sent, and how the record shows it. */
interface Said {
  readonly line: string
  readonly shown: string
}

interface Mechanism {
  readonly name: string
  /** The first line, and the answers to what the server asks for. */
  readonly lines: (credential: Credential) => readonly Said[] | null
}

const HIDDEN = '********'

/** The first that is offered. */
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

function hidden(command: string, secret: string): Said {
  return { line: command + Buffer.from(secret).toString('base64'), shown: command + HIDDEN }
}

export function createLogin(credential: Credential): Login {
  return async (wire, offers) => {
    const offered = MECHANISMS.filter(({ name }) => offers.auth.includes(name))
    const lines = offered.map((one) => one.lines(credential)).find((found) => found !== null)
    if (lines == null) {
      wire.lose(
        'protocol',
        `the server offers no way to sign in that fits: ${offers.auth.join(' ') || 'no AUTH'}`,
        'auth-not-offered',
      )
      return { reply: null }
    }
    return converse(wire, lines)
  }
}

async function converse(wire: Wire, lines: readonly Said[]): Promise<{ reply: Reply | null } | null> {
  for (const [i, { line, shown }] of lines.entries()) {
    wire.send([line], [shown])
    const reply = await wire.answer('auth')
    if (reply === null) return { reply }
    if (reply.code === 235) return null
    if (reply.code !== 334) return { reply }
    if (i < lines.length - 1) continue
    // XOAUTH2 tells an error as a challenge and gives its answer after an empty line; any other question is one too many
    wire.send([''], [''])
    return { reply: await wire.answer('auth') }
  }
  return null
}
