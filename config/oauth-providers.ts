/**
 * The OAuth servers whose mailboxes may be connected, and the SMTP servers that accept their mail. Google and Microsoft
 * are preset. OAUTH_PROVIDERS_FILE (JSON, one object per provider) adds the operator's client id and secret, changes a
 * preset, or adds other providers. A provider without a client id is not offered.
 */
import { z } from 'zod'
import { ConfigError } from './load.ts'
import { readSettingJson } from './setting-file.ts'

/** How a connection to a provider is secured: implicit TLS, STARTTLS before anything else, or not at all. */
export const SECURITIES = ['tls', 'starttls', 'none'] as const
export type Security = (typeof SECURITIES)[number]

/** Limits of one connected account. */
export interface AccountLimits {
  /** Open at the same time, per process. */
  readonly connections: number
  readonly messagesPerConnection: number
  /** Over all processes; null = no limit. */
  readonly messagesPerMinute: number | null
}

export interface OAuthProvider extends AccountLimits {
  readonly name: string
  readonly clientId: string
  /** Null for a public client, which only PKCE protects. */
  readonly clientSecret: string | null
  readonly authorizeUrl: string
  readonly tokenUrl: string
  /** Revokes a token (RFC 7009). Null if the provider has no such endpoint. */
  readonly revokeUrl: string | null
  readonly scopes: readonly string[]
  /** Additional query parameters of the authorize URL. */
  readonly parameters: Readonly<Record<string, string>>
  readonly smtpHost: string
  readonly smtpPort: number
  readonly security: Security
}

/** By name. */
export type OAuthProviders = ReadonlyMap<string, OAuthProvider>

/** For SMTP credentials, and the defaults for the operator's own providers. */
export const ACCOUNT_LIMITS: AccountLimits = { connections: 5, messagesPerConnection: 100, messagesPerMinute: 300 }

const PRESETS: Readonly<Record<string, Omit<OAuthProvider, 'name' | 'clientId' | 'clientSecret'>>> = {
  google: {
    authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    revokeUrl: 'https://oauth2.googleapis.com/revoke',
    scopes: ['https://mail.google.com/', 'openid', 'email'],
    // Google returns a refresh token only with both of these
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
    revokeUrl: null,
    scopes: ['https://outlook.office.com/SMTP.Send', 'offline_access', 'openid', 'email'],
    parameters: {},
    smtpHost: 'smtp.office365.com',
    smtpPort: 587,
    security: 'starttls',
    // Exchange Online accepts 3 connections and 30 messages a minute from one mailbox
    connections: 3,
    messagesPerConnection: 30,
    messagesPerMinute: 30,
  },
}

const INVALID_NAME = 'a provider name consists of lower-case letters, digits and -, and starts with a letter'
const url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
const positiveInteger = z.int('must be a whole number').min(1, 'must be at least 1')
const providerFields = z.strictObject({
  clientId: z.string('is required').min(1, 'is required'),
  clientSecret: z.string().min(1).nullable().default(null),
  authorizeUrl: url,
  tokenUrl: url,
  revokeUrl: url.nullable().default(null),
  scopes: z.array(z.string().min(1)),
  parameters: z.record(z.string(), z.string()).default({}),
  smtpHost: z.string().min(1),
  smtpPort: z.int().min(1).max(65_535),
  security: z.enum(SECURITIES),
  connections: positiveInteger.default(ACCOUNT_LIMITS.connections),
  messagesPerConnection: positiveInteger.default(ACCOUNT_LIMITS.messagesPerConnection),
  messagesPerMinute: positiveInteger.nullable().default(ACCOUNT_LIMITS.messagesPerMinute),
})
const providerFile = z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), z.record(z.string(), z.unknown()), {
  error: ({ code }) => (code === 'invalid_key' ? INVALID_NAME : 'must be a JSON object with one provider per name'),
})

/**
 * The providers that the operator offers; none without a file.
 * @throws ConfigError that lists every problem with OAUTH_PROVIDERS_FILE, one per line.
 */
export function loadOAuthProviders(file: string | null): OAuthProviders {
  if (file === null) return new Map()
  const read = providerFile.safeParse(readSettingJson('OAUTH_PROVIDERS_FILE', file))
  if (!read.success)
    throw invalidFile(
      file,
      read.error.issues.map(({ path, message }) => describeIssue(path, message)),
    )
  const rows = Object.entries(read.data).map(([name, fields]) => {
    const known = Object.hasOwn(PRESETS, name) ? PRESETS[name] : {}
    return { name, read: providerFields.safeParse({ ...known, ...fields }) }
  })
  const issues = rows.flatMap(
    (row) => row.read.error?.issues.map(({ path, message }) => describeIssue([row.name, ...path], message)) ?? [],
  )
  if (issues.length > 0) throw invalidFile(file, issues)
  return new Map(rows.flatMap(({ name, read: { data } }) => (data === undefined ? [] : [[name, { name, ...data }]])))
}

function describeIssue(path: readonly PropertyKey[], message: string): string {
  return [path.map(String).join('.'), message].filter((part) => part !== '').join(': ')
}

function invalidFile(file: string, problems: readonly string[]): ConfigError {
  return new ConfigError(`OAUTH_PROVIDERS_FILE (${file}) is invalid:\n  ${problems.join('\n  ')}`)
}
