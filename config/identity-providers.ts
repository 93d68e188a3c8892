/**
 * The identity providers that people sign in with: OpenID Connect, and OAuth 2.0 of GitHub, which has no id_token.
 * IDENTITY_PROVIDERS_FILE (JSON, one object for each name) has the operator's client id and secret. `google`,
 * `microsoft` and `github` are preset; any other name is a provider that its `issuer` describes (OpenID Connect
 * Discovery 1.0).
 */
import { z } from 'zod'
import { ConfigError } from './load.ts'
import { readSettingJson } from './setting-file.ts'

/** Creates an account at the first login with a verified address of one of these domains. */
export interface AccountCreation {
  readonly domains: readonly string[]
  /** The id of a workspace that the new account joins; null for none. */
  readonly workspace: string | null
  /** A role of src/people/roles.ts, without those that manage members. */
  readonly role: string
}

export interface IdentityProvider {
  readonly name: string
  /** What people see. */
  readonly label: string
  readonly kind: 'oidc' | 'github'
  /** Identifies its people, together with their subject. */
  readonly issuer: string
  readonly clientId: string
  /** Null for a public client, which only PKCE protects. */
  readonly clientSecret: string | null
  readonly scopes: readonly string[]
  /** Every address of this provider is verified, though it does not say so. */
  readonly trustsEmail: boolean
  /** Only people with a verified address of these domains; null: all. */
  readonly domains: readonly string[] | null
  /** Null: an account is created by an invitation only. */
  readonly createAccounts: AccountCreation | null
  /** The API of GitHub. */
  readonly apiUrl: string
}

/** By name. */
export type IdentityProviders = ReadonlyMap<string, IdentityProvider>

const GITHUB_API = 'https://api.github.com'
const TENANT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const NAME = /^[a-z][a-z0-9-]{0,31}$/

/** What a preset adds to the fields of the file. */
const PRESETS: Readonly<Record<string, (given: Readonly<Record<string, unknown>>) => object>> = {
  google: () => ({ label: 'Google', issuer: 'https://accounts.google.com' }),
  // the issuer of an id_token has the id of the tenant, so a login of all tenants could not be checked
  microsoft: ({ tenant }) => ({
    label: 'Microsoft',
    ...(typeof tenant === 'string' && TENANT.test(tenant)
      ? { issuer: `https://login.microsoftonline.com/${tenant}/v2.0` }
      : {}),
  }),
  github: () => ({
    label: 'GitHub',
    kind: 'github',
    issuer: 'https://github.com',
    scopes: ['read:user', 'user:email'],
  }),
}

/** Clear text is for a provider on this machine only. */
const providerUrl = z.url({ error: 'must be a URL' }).refine((text) => {
  const { protocol, hostname, search, hash } = new URL(text)
  const isLocal = protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return (protocol === 'https:' || isLocal) && search === '' && hash === ''
}, 'must be an https URL without query')
const domains = z
  .array(
    z
      .string()
      .toLowerCase()
      .regex(/^([a-z0-9-]+\.)+[a-z0-9-]+$/, 'must be a domain'),
  )
  .min(1, 'is empty')

const providerFields = z.strictObject({
  label: z.string().min(1).max(60).optional(),
  kind: z.enum(['oidc', 'github']).default('oidc'),
  tenant: z.string().regex(TENANT, 'must be the id of a tenant, a UUID in lower case').optional(),
  issuer: providerUrl,
  clientId: z.string('is required').min(1, 'is required'),
  clientSecret: z.string().min(1).nullable().default(null),
  scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/)).default(['openid', 'email', 'profile']),
  trustsEmail: z.boolean().default(false),
  domains: domains.nullable().default(null),
  createAccounts: z
    .strictObject({
      domains,
      workspace: z.uuid('must be the id of a workspace').nullable().default(null),
      role: z.enum(['developer', 'marketer', 'viewer']).default('viewer'),
    })
    .nullable()
    .default(null),
  apiUrl: providerUrl.default(GITHUB_API),
})

const providerFile = z.record(z.string().regex(NAME), z.record(z.string(), z.unknown()), {
  error: ({ code }) =>
    code === 'invalid_key'
      ? 'a provider name consists of lower-case letters, digits and -, and starts with a letter'
      : 'must be a JSON object with one provider per name',
})

/**
 * None without a file.
 * @throws ConfigError that lists every problem with IDENTITY_PROVIDERS_FILE, one per line.
 */
export function loadIdentityProviders(file: string | null): IdentityProviders {
  if (file === null) return new Map()
  const read = providerFile.safeParse(readSettingJson('IDENTITY_PROVIDERS_FILE', file))
  if (!read.success) throw invalidFile(file, read.error.issues.map(describeIssue([])))
  const providers = new Map<string, IdentityProvider>()
  const issues: string[] = []
  for (const [name, given] of Object.entries(read.data)) {
    const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name]?.(given) : {}
    const fields = providerFields.safeParse({ ...preset, ...given })
    if (fields.success) providers.set(name, toProvider(name, fields.data))
    else issues.push(...fields.error.issues.map(describeIssue([name])))
  }
  if (issues.length > 0) throw invalidFile(file, issues)
  return providers
}

function toProvider(name: string, fields: z.output<typeof providerFields>): IdentityProvider {
  return { ...fields, name, label: fields.label ?? name, apiUrl: fields.apiUrl.replace(/\/+$/, '') }
}

function describeIssue(before: readonly string[]): (issue: { path: PropertyKey[]; message: string }) => string {
  return ({ path, message }) =>
    [[...before, ...path].map(String).join('.'), message].filter((part) => part !== '').join(': ')
}

function invalidFile(file: string, problems: readonly string[]): ConfigError {
  return new ConfigError(`IDENTITY_PROVIDERS_FILE (${file}) is invalid:\n  ${problems.join('\n  ')}`)
}
