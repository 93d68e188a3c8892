/**
 * Requests one certificate from an authority (ACME, RFC 8555). The only file that knows the client library. A request
 * has an end: each HTTP exchange and each wait for a status is limited, and nothing is repeated here, because the
 * authority limits failures and the caller waits longer each time. If the process dies, the authority forgets the
 * order after some days.
 */
import { X509Certificate } from 'node:crypto'
import { request, type RequestOptions } from 'node:https'
import { rootCertificates } from 'node:tls'
import acme, { type Authorization, type Client } from 'acme-client'
import type { Config } from '#config/load.ts'
import { readAuthorities } from '#config/setting-file.ts'

export type ChallengeKind = 'http-01' | 'tls-alpn-01' | 'dns-01'

export interface AccountKey {
  /** PEM. */
  readonly privateKey: string
  /** Null until the account is registered. */
  readonly url: string | null
}

/** What the authority is to read; `response` depends on the kind. */
export interface Challenge {
  readonly kind: ChallengeKind
  readonly name: string
  readonly token: string
  /** http-01: the content of the file. dns-01: the TXT record. tls-alpn-01: the certificate in PEM. */
  readonly response: string
  /** PEM; only of tls-alpn-01. */
  readonly privateKey: string | null
}

export interface ChallengePublisher {
  /** Resolves when the authority can read it. Returns how to remove it. */
  publish(challenge: Challenge): Promise<() => Promise<void>>
}

export interface CertificateRequest {
  readonly config: AuthoritySettings
  readonly account: AccountKey
  /** Called once the account is registered. */
  readonly onRegistered: (url: string) => Promise<void>
  readonly publisher: ChallengePublisher
  readonly names: readonly string[]
}

type AuthoritySettings = Pick<Config, 'acmeDirectory' | 'acmeEmail' | 'acmeEabKeyId' | 'acmeEabKey' | 'extraCaFile'> & {
  readonly acmeChallenge: ChallengeKind
}

/** RFC 8555 7.1.1, as far as it is used. */
export interface AuthorityDirectory {
  readonly meta?: {
    readonly termsOfService?: string
    /** The issuers of CAA records that mean this authority. */
    readonly caaIdentities?: readonly string[]
    readonly externalAccountRequired?: boolean
  }
}

interface RequestedCertificate {
  /** PEM, the certificate of the names first. */
  readonly chain: string
  readonly privateKey: string
  readonly validFrom: Date
  readonly expiresAt: Date
}

/** Of the exchange of one HTTP request. */
const TIMEOUT_MS = 20_000
const MAX_BYTES = 1024 * 1024
/** How often, and how long after another, the status of an order is asked for: about three minutes. */
const STATUS_CHECKS = { backoffAttempts: 40, backoffMin: 500, backoffMax: 5000 }

/** A new key for an account, in PEM. */
export async function createAccountKey(): Promise<string> {
  return (await acme.crypto.createPrivateEcdsaKey('P-256')).toString()
}

/** @throws an error whose message says what the authority refused, or why it was not reached. */
export async function requestCertificate(wanted: CertificateRequest): Promise<RequestedCertificate> {
  const client = await openClient(wanted)
  const order = await client.createOrder({ identifiers: wanted.names.map((value) => ({ type: 'dns', value })) })
  for (const authorization of await client.getAuthorizations(order)) await prove(client, authorization, wanted)
  const privateKey = await acme.crypto.createPrivateEcdsaKey('P-256')
  const [, csr] = await acme.crypto.createCsr({ altNames: [...wanted.names] }, privateKey)
  const finalized = await client.finalizeOrder(order, csr)
  const chain = await client.getCertificate(finalized)
  const { validFrom, validTo } = new X509Certificate(chain)
  return { chain, privateKey: privateKey.toString(), validFrom: new Date(validFrom), expiresAt: new Date(validTo) }
}

/** @throws an error that says why the authority was not reached, or that no directory is there. */
export async function readDirectory(
  config: Pick<Config, 'acmeDirectory' | 'extraCaFile'>,
): Promise<AuthorityDirectory> {
  const url = new URL(config.acmeDirectory)
  const { status, data } = await exchange(url, { method: 'GET', ca: trustedRoots(config) }, '').catch(
    (error: unknown) => {
      throw notReached(url, error)
    },
  )
  const isObject = status === 200 && data.startsWith('{')
  const found = isObject ? (JSON.parse(data) as AuthorityDirectory & { readonly newOrder?: string }) : null
  if (found?.newOrder === undefined)
    throw new Error(`${config.acmeDirectory} is no directory of an authority (HTTP ${status})`)
  return found
}

async function openClient({ config, account, onRegistered }: CertificateRequest): Promise<Client> {
  connectWith(config)
  const { acmeEabKeyId: kid, acmeEabKey: hmacKey, acmeEmail } = config
  const client = new acme.Client({
    directoryUrl: config.acmeDirectory,
    accountKey: account.privateKey,
    ...(account.url === null ? {} : { accountUrl: account.url }),
    ...(kid === null || hmacKey === null ? {} : { externalAccountBinding: { kid, hmacKey } }),
    ...STATUS_CHECKS,
  })
  if (account.url !== null) return client
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(acmeEmail === null ? {} : { contact: [`mailto:${acmeEmail}`] }),
  })
  await onRegistered(client.getAccountUrl())
  return client
}

/** The authority remembers for some time that a name was proved. */
async function prove(
  client: Client,
  authorization: Authorization,
  { config, publisher }: CertificateRequest,
): Promise<void> {
  if (authorization.status === 'valid') return
  const name = authorization.identifier.value
  const offered = authorization.challenges.find(({ type }) => type === config.acmeChallenge)
  if (offered === undefined) {
    const types = authorization.challenges.map(({ type }) => type).join(', ')
    throw new Error(
      `the authority does not accept ${config.acmeChallenge} for ${name}, but ${types}: see ACME_CHALLENGE`,
    )
  }
  const response = await client.getChallengeKeyAuthorization(offered)
  const kind: ChallengeKind = config.acmeChallenge
  const challenge = { kind, name, token: offered.token, response, privateKey: null }
  const remove = await publisher.publish(
    kind === 'tls-alpn-01' ? await withCertificate(authorization, challenge) : challenge,
  )
  try {
    await client.completeChallenge(offered)
    await client.waitForValidStatus(offered)
  } finally {
    await remove()
  }
}

/** RFC 8737 3: a self-signed certificate with a digest of the response. */
async function withCertificate(authorization: Authorization, challenge: Challenge): Promise<Challenge> {
  const [key, cert] = await acme.crypto.createAlpnCertificate(authorization, challenge.response)
  return { ...challenge, response: cert.toString(), privateKey: key.toString() }
}

/**
 * All connections of the library: with the authorities of EXTRA_CA_FILE, limited in time and size, without redirects.
 * Every response resolves, whatever its status: the library explains it, and its own retries are not used.
 */
function connectWith(settings: AuthoritySettings): void {
  const ca = trustedRoots(settings)
  acme.axios.defaults.adapter = async (config) => {
    const url = new URL(config.url ?? '')
    const body = typeof config.data === 'string' ? config.data : ''
    const headers = { ...config.headers.toJSON(), 'content-length': Buffer.byteLength(body) }
    const method = (config.method ?? 'GET').toUpperCase()
    try {
      return { ...(await exchange(url, { method, headers, ca }, body)), config }
    } catch (error) {
      throw notReached(url, error)
    }
  }
}

function trustedRoots({ extraCaFile }: Pick<Config, 'extraCaFile'>): string[] {
  return [...rootCertificates, ...(extraCaFile === null ? [] : [readAuthorities('EXTRA_CA_FILE', extraCaFile)])]
}

function notReached(url: URL, error: unknown): Error {
  const why = error instanceof Error ? error.message : String(error)
  return new Error(`the authority at ${url.host} was not reached: ${why}`, { cause: error })
}

interface Exchanged {
  readonly data: string
  readonly status: number
  readonly statusText: string
  readonly headers: Record<string, string>
}

function exchange(url: URL, options: RequestOptions, body: string): Promise<Exchanged> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchanged>()
  const sent = request(url, options, (response) => {
    const chunks: Buffer[] = []
    let size = 0
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_BYTES) response.destroy(new Error('its response is too large'))
    })
    response.once('error', reject)
    response.once('end', () =>
      resolve({
        data: Buffer.concat(chunks).toString(),
        status: response.statusCode ?? 0,
        statusText: response.statusMessage ?? '',
        headers: response.headers as Record<string, string>,
      }),
    )
  })
  const late = setTimeout(() => sent.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS)
  sent.once('error', reject)
  sent.end(body)
  return promise.finally(() => clearTimeout(late))
}
