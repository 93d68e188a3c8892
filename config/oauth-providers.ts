/**
 * The OAuth servers whose mailboxes may be connected, and where their mail is handed in. Google and Microsoft are known;
 * OAUTH_PROVIDERS_FILE (JSON, an object for each provider) gives them the operator's client id and secret, changes them, or adds others. A
 * provider without a client id is not offered.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ConfigError } from './load.ts'

/** How mail is handed to a provider: TLS from the first octet, STARTTLS before anything else, or neither. */
export const SECURITIES = ['tls', 'starttls', 'none'] as const
export type Security = (typeof SECURITIES)[number]

/** What one account is asked to take from all our processes. */
export interface AccountLimits {
  /** Open at once, of one process. */
  readonly connections: number
  readonly messagesPerConnection: number
  /** Of all processes together; null = no limit. */
  readonly messagesPerMinute: number | null
}

export interface OAuthProvider extends AccountLimits {
  readonly name: string
  readonly clientId: string
  /** Null: a public client, which PKCE alone protects. */
  readonly clientSecret: string | null
  readonly authorizeUrl: string
  readonly tokenUrl: string
  readonly scopes: readonly string[]
  /** Further parameters of the authorize URL. */
  readonly parameters: Readonly<Record<string, string>>
  readonly smtpHost: string
  readonly smtpPort: number
  readonly security: Security
}

/** By name. */
export type OAuthProviders = ReadonlyMap<string, OAuthProvider>

/** For SMTP credentials, and for providers of the operator's own that say nothing else. */
export const ACCOUNT_LIMITS: AccountLimits = { connections: 5, messagesPerConnection: 100, messagesPerMinute: 300 }

const PRESETS: Readonly<Record<string, Omit<OAuthProvider, 'name' | 'clientId' | 'clientSecret'>>> = {
  google: {
    authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    scopes: ['https://mail.google.com/', 'openid', 'email'],
    // a refresh token comes only with these two
    parameters: { access_type: 'offline', prompt: 'consent' },
    smtpHost: 'smtp.gmail.com',
    smtpPort: 465,
    security: 'tls',
    connections: 3,
    messagesPerConnection: 50,
    messagesPerMinute: 60,
  },
  microsoft: {
    authorizeUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    tokenUrl: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    scopes: ['https://outlook.office.com/SMTP.Send', 'offline_access', 'openid', 'email'],
    parameters: {},
    smtpHost: 'smtp.office365.com',
    smtpPort: 587,
    security: 'starttls',
    // Exchange Online takes 3 connections and 30 messages a minute from a mailbox
    connections: 3,
    messagesPerConnection: 30,
    messagesPerMinute: 30,
  },
}

const NAMED = 'a provider is named in lower-case letters, digits and -'
const url = z.url({ protocol: /^https?$/, error: 'must be an http or https address' })
const some = z.int('must be a whole number').min(1, 'at least 1')
const given = z.strictObject({
  clientId: z.string('is required').min(1, 'is required'),
  clientSecret: z.string().min(1).nullable().default(null),
  authorizeUrl: url,
  tokenUrl: url,
  scopes: z.array(z.string().min(1)),
  parameters: z.record(z.string(), z.string()).default({}),
  smtpHost: z.string().min(1),
  smtpPort: z.int().min(1).max(65_535),
  security: z.enum(SECURITIES),
  connections: some.default(ACCOUNT_LIMITS.connections),
  messagesPerConnection: some.default(ACCOUNT_LIMITS.messagesPerConnection),
  messagesPerMinute: some.nullable().default(ACCOUNT_LIMITS.messagesPerMinute),
})
const fileOf = z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), z.record(z.string(), z.unknown()), {
  error: ({ code }) => (code === 'invalid_key' ? NAMED : 'must be an object of providers'),
})

/**
 * The providers that may be used.
 * @throws ConfigError that says what is wrong with OAUTH_PROVIDERS_FILE, one line for each thing.
 */
export function loadOAuthProviders(file: string | null): OAuthProviders {
  if (file === null) return new Map()
  const read = fileOf.safeParse(parse(file))
  if (!read.success)
    throw wrong(
      file,
      read.error.issues.map(({ path, message }) => line(path, message)),
    )
  const rows = Object.entries(read.data).map(([name, fields]) => {
    const known = Object.hasOwn(PRESETS, name) ? PRESETS[name] : {}
    return { name, read: given.safeParse({ ...known, ...fields }) }
  })
  const issues = rows.flatMap(
    (row) => row.read.error?.issues.map(({ path, message }) => line([row.name, ...path], message)) ?? [],
  )
  if (issues.length > 0) throw wrong(file, issues)
  return new Map(rows.flatMap(({ name, read: { data } }) => (data === undefined ? [] : [[name, { name, ...data }]])))
}

function line(path: readonly PropertyKey[], message: string): string {
  return [path.map(String).join('.'), message].filter((part) => part !== '').join(': ')
}

function wrong(file: string, lines: readonly string[]): ConfigError {
  return new ConfigError(`the providers in OAUTH_PROVIDERS_FILE (${file}) are wrong:\n  ${lines.join('\n  ')}`)
}

function parse(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`OAUTH_PROVIDERS_FILE cannot be read: ${why}`, { cause: error })
  }
}
