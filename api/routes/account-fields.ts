/** The request fields of a connected account, with their aliases, and the normalised form that handlers use. */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { z } from 'zod'
import { SECURITIES, type AccountLimits, type Security } from '#config/oauth-providers.ts'
import { parseAddress } from '#src/mail/address.ts'
import type { AccountCredentials } from '#src/providers/accounts.ts'

const MAX_ADDRESSES = 100
/** How much of an invalid address an error quotes. */
const MAX_QUOTED_LENGTH = 100
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const nameField = z
  .string()
  .trim()
  .min(1, 'is empty')
  .max(255, 'at most 255 characters')
  .regex(/^\P{Cc}*$/u, 'has control characters')
  .nullish()
const host = z.string().trim().max(255, 'at most 255 characters').nullish()
const port = z.int('must be a whole number').min(1, 'at least 1').max(65_535, 'at most 65535').nullish()
/** Part of the SMTP credentials. NUL would separate them (RFC 4616). */
const credentialField = z
  .string()
  .min(1, 'is empty')
  .max(1024, 'at most 1024 characters')
  .refine((text) => !/[\0\r\n]/.test(text), 'has control characters')
  .nullish()
const addressList = z.array(z.string()).max(MAX_ADDRESSES, `at most ${MAX_ADDRESSES} addresses`)
const senderAddresses = z.union([z.string(), addressList], 'must be an email address or a list of them').nullish()
const positiveLimit = z.int('must be a whole number').min(1, 'at least 1').max(10_000, 'at most 10000').nullish()

export const accountFields = z.object({
  name: nameField,
  host,
  smtp_host: host.meta(aliasOf('host')),
  port,
  smtp_port: port.meta(aliasOf('port')),
  security: z.enum(SECURITIES).nullish().meta({
    description: '`tls` from the first byte, `starttls`, or `none` (only in networks that ALLOW_PRIVATE_TARGETS names)',
  }),
  username: credentialField,
  user: credentialField.meta(aliasOf('username')),
  password: credentialField,
  pass: credentialField.meta(aliasOf('password')),
  from: senderAddresses.meta({
    description: 'the addresses allowed in From; by default the user name, if it is an address',
  }),
  addresses: senderAddresses.meta(aliasOf('from')),
  connections: positiveLimit,
  messages_per_connection: positiveLimit,
  messages_per_minute: positiveLimit.meta({ description: 'null: no limit' }),
})
export type AccountFields = z.infer<typeof accountFields>

export interface AccountInput {
  readonly name: string | undefined
  readonly addresses: readonly string[] | undefined
  readonly limits: Partial<AccountLimits>
  readonly host: string | undefined
  readonly port: number | undefined
  readonly security: Security | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

type AddIssue = (path: string, message: string) => void

export function parseAccountFields(given: AccountFields, addIssue: AddIssue): AccountInput {
  const { connections, messages_per_connection: perConnection, messages_per_minute: perMinute } = given
  const hostText = given.host ?? given.smtp_host ?? undefined
  return {
    name: given.name ?? undefined,
    addresses: parseAddresses(given.from ?? given.addresses ?? undefined, addIssue),
    limits: {
      ...(connections == null ? {} : { connections }),
      ...(perConnection == null ? {} : { messagesPerConnection: perConnection }),
      ...(perMinute === undefined ? {} : { messagesPerMinute: perMinute }),
    },
    host: hostText === undefined ? undefined : parseHost(hostText, addIssue),
    port: given.port ?? given.smtp_port ?? undefined,
    security: given.security ?? undefined,
    username: given.username ?? given.user ?? undefined,
    password: given.password ?? given.pass ?? undefined,
  }
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/

function parseHost(text: string, addIssue: AddIssue): string | undefined {
  const name = isIP(text) === 0 ? domainToASCII(text.replace(/\.$/, '')) : text
  const isPrintable = !/[\s\p{Cc}]/u.test(text)
  if (isPrintable && (isIP(name) !== 0 || HOST_NAME.test(name))) return name
  addIssue('host', 'must be a host name or an IP address')
  return undefined
}

function parseAddresses(given: string | readonly string[] | undefined, addIssue: AddIssue): string[] | undefined {
  if (given === undefined) return undefined
  const texts = (typeof given === 'string' ? given.split(',') : given)
    .map((text) => text.trim())
    .filter((text) => text !== '')
  const parsed = texts.map((text) => parseAddress(text))
  const invalidIndex = parsed.findIndex((one) => !one.ok)
  if (invalidIndex >= 0)
    addIssue('from', `${JSON.stringify(texts[invalidIndex]?.slice(0, MAX_QUOTED_LENGTH))} is not an email address`)
  if (texts.length === 0) addIssue('from', 'must contain at least one address')
  return [...new Set(parsed.flatMap((one) => (one.ok ? [one.address.address.toLowerCase()] : [])))]
}

const DEFAULT_PORTS: Readonly<Record<Security, number>> = { tls: 465, starttls: 587, none: 25 }

/** The complete credentials; null if the host, the user name or the password is missing. */
export function toSignIn({
  host: serverHost,
  port: serverPort,
  security,
  username,
  password,
}: AccountInput): AccountCredentials | null {
  if (serverHost === undefined || username === undefined || password === undefined) return null
  const chosenSecurity = security ?? (serverPort === 465 ? 'tls' : 'starttls')
  return {
    host: serverHost,
    port: serverPort ?? DEFAULT_PORTS[chosenSecurity],
    security: chosenSecurity,
    username,
    secret: password,
  }
}
