/** What an account is made of and changed by, as clients write it, folded into one form. */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { z } from 'zod'
import { SECURITIES, type AccountLimits, type Security } from '#config/oauth-providers.ts'
import { parseAddress } from '#src/mail/address.ts'
import type { SignIn } from '#src/providers/accounts.ts'

const MAX_ADDRESSES = 100
/** Of what was written, in an answer. */
const MOST_SHOWN = 100
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const label = z
  .string()
  .trim()
  .min(1, 'is empty')
  .max(255, 'at most 255 characters')
  .regex(/^\P{Cc}*$/u, 'has control characters')
  .nullish()
const host = z.string().trim().max(255, 'at most 255 characters').nullish()
const port = z.int('must be a whole number').min(1, 'at least 1').max(65_535, 'at most 65535').nullish()
/** What is sent as credentials; NUL would divide them (RFC 4616). */
const secret = z
  .string()
  .min(1, 'is empty')
  .max(1024, 'at most 1024 characters')
  .refine((text) => !/[\0\r\n]/.test(text), 'has control characters')
  .nullish()
const listed = z.array(z.string()).max(MAX_ADDRESSES, `at most ${MAX_ADDRESSES} addresses`)
const from = z.union([z.string(), listed], 'must be an address, or a list of them').nullish()
const some = z.int('must be a whole number').min(1, 'at least 1').max(10_000, 'at most 10000').nullish()

export const accountFields = z.object({
  name: label,
  host,
  smtp_host: host.meta(aliasOf('host')),
  port,
  smtp_port: port.meta(aliasOf('port')),
  security: z
    .enum(SECURITIES)
    .nullish()
    .meta({ description: 'tls from the first octet, starttls, or none (only inside allowed networks)' }),
  username: secret,
  user: secret.meta(aliasOf('username')),
  password: secret,
  pass: secret.meta(aliasOf('password')),
  from: from.meta({ description: 'the addresses that mail may come from; the user name where it is an address' }),
  addresses: from.meta(aliasOf('from')),
  connections: some,
  messages_per_connection: some,
  messages_per_minute: some.meta({ description: 'null: as fast as the server takes them' }),
})
export type AccountFields = z.infer<typeof accountFields>

export interface FoldedAccount {
  readonly name: string | undefined
  readonly addresses: readonly string[] | undefined
  readonly limits: Partial<AccountLimits>
  readonly host: string | undefined
  readonly port: number | undefined
  readonly security: Security | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

type Complain = (path: string, message: string) => void

export function foldAccount(given: AccountFields, complain: Complain): FoldedAccount {
  const { connections, messages_per_connection: perConnection, messages_per_minute: perMinute } = given
  const server = given.host ?? given.smtp_host ?? undefined
  return {
    name: given.name ?? undefined,
    addresses: foldAddresses(given.from ?? given.addresses ?? undefined, complain),
    limits: {
      ...(connections == null ? {} : { connections }),
      ...(perConnection == null ? {} : { messagesPerConnection: perConnection }),
      ...(perMinute === undefined ? {} : { messagesPerMinute: perMinute }),
    },
    host: server === undefined ? undefined : foldHost(server, complain),
    port: given.port ?? given.smtp_port ?? undefined,
    security: given.security ?? undefined,
    username: given.username ?? given.user ?? undefined,
    password: given.password ?? given.pass ?? undefined,
  }
}

const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/

function foldHost(text: string, complain: Complain): string | undefined {
  const name = isIP(text) === 0 ? domainToASCII(text.replace(/\.$/, '')) : text
  const isWritten = !/[\s\p{Cc}]/u.test(text)
  if (isWritten && (isIP(name) !== 0 || NAME.test(name))) return name
  complain('host', 'must be the name or address of a server')
  return undefined
}

function foldAddresses(given: string | readonly string[] | undefined, complain: Complain): string[] | undefined {
  if (given === undefined) return undefined
  const texts = (typeof given === 'string' ? given.split(',') : given)
    .map((text) => text.trim())
    .filter((text) => text !== '')
  const read = texts.map((text) => parseAddress(text))
  const wrong = read.findIndex((one) => !one.ok)
  if (wrong >= 0) complain('from', `${JSON.stringify(texts[wrong]?.slice(0, MOST_SHOWN))} is no address`)
  if (texts.length === 0) complain('from', 'at least one address')
  return [...new Set(read.flatMap((one) => (one.ok ? [one.address.address.toLowerCase()] : [])))]
}

const PORTS: Readonly<Record<Security, number>> = { tls: 465, starttls: 587, none: 25 }

/** What is used to sign in, all of it. */
export function signInOf({ host: server, port: at, security, username, password }: FoldedAccount): SignIn | null {
  if (server === undefined || username === undefined || password === undefined) return null
  const kind = security ?? (at === 465 ? 'tls' : 'starttls')
  return { host: server, port: at ?? PORTS[kind], security: kind, username, secret: password }
}
