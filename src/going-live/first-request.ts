/**
 * What can be checked of automatic certificates before the first start (`mailstead setup`): whether the names lead to
 * this machine, the ports can be opened, the authority answers, and CAA records permit it. Afterwards the result of the
 * request itself counts (`certificates.ts`). Nothing is changed; each port is open for an instant. What gets no answer
 * is `unknown`. Pure, but for `createRequestDeps`.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { CaaRecord } from 'node:dns'
import type { Config } from '#config/load.ts'
import { type AuthorityDirectory, readDirectory } from '#src/certificates/authority.ts'
import { isAutomatic, neededSmtpCertificate, neededWebCertificates } from '#src/certificates/needed-names.ts'
import { createDomainDns, type DomainDns, queryDns, type DnsQueryResult } from '#src/domains/domain-dns.ts'
import { isReachable } from '#src/net/address-policy.ts'
import { openResolver } from '#src/net/dns-resolver.ts'
import { combineFindings, failed, type LiveFinding, ok, skipped, unknown, warning } from './finding.ts'

export interface RequestDeps {
  readonly config: Config
  readonly dns: Pick<DomainDns, 'ofFamily'>
  readonly caa: (name: string) => Promise<DnsQueryResult<CaaRecord>>
  /** @throws an error that says why the authority was not reached. */
  readonly readDirectory: () => Promise<AuthorityDirectory>
  /** The addresses of this machine. */
  readonly ownAddresses: readonly string[]
  /** Opens and closes the port: null, or the code of the error. */
  readonly tryPort: (port: number, host: string | null) => Promise<string | null>
}

type RequestCheck = (
  deps: RequestDeps,
  names: readonly string[],
  directory: Promise<AuthorityDirectory>,
) => Promise<LiveFinding>

export const REQUEST_CHECKS = {
  'certificate names': (deps, names) => combine(names.map((name) => checkName(deps, name))),
  'certificate ports': checkPorts,
  'certificate authority': ({ config }, _names, directory) => checkAuthority(config, directory),
  'CAA records': async (deps, names, directory) => {
    const issuers = await directory.then(
      ({ meta }) => meta?.caaIdentities ?? [],
      () => [],
    )
    if (issuers.length === 0) return skipped('the authority names no issuer to compare with')
    return combine(names.map((name) => checkCaa(deps, name, issuers)))
  },
} as const satisfies Record<string, RequestCheck>

type RequestCheckName = keyof typeof REQUEST_CHECKS
export type RequestFinding = LiveFinding & { readonly name: RequestCheckName }

/** Nothing if no certificate is requested. */
export async function checkFirstRequest(deps: RequestDeps): Promise<RequestFinding[]> {
  const { config } = deps
  const smtp = neededSmtpCertificate(config)
  const needed = [...neededWebCertificates(config), ...(smtp === null ? [] : [smtp])]
  const names = [...new Set(needed.flatMap(({ name, otherNames }) => [name, ...otherNames]))]
  if (!isAutomatic(config) || names.length === 0) return []
  const directory = deps.readDirectory()
  return Promise.all(
    Object.entries(REQUEST_CHECKS).map(async ([name, check]) => ({
      name: name as RequestCheckName,
      ...(await check(deps, names, directory)),
    })),
  )
}

export function createRequestDeps(config: Config): RequestDeps {
  const caa = (name: string): Promise<DnsQueryResult<CaaRecord>> =>
    queryDns(() => openResolver({ servers: config.dnsServers, timeout: 3000, tries: 2 }).resolveCaa(name))
  return {
    config,
    dns: createDomainDns(config),
    caa,
    readDirectory: () => readDirectory(config),
    ownAddresses: Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)),
    tryPort,
  }
}

const combine = async (findings: readonly Promise<LiveFinding>[]): Promise<LiveFinding> =>
  combineFindings(await Promise.all(findings))

/** An authority prefers IPv6, so every address of both families has to lead here. */
async function checkName({ config, dns, ownAddresses }: RequestDeps, name: string): Promise<LiveFinding> {
  if (config.acmeChallenge === 'dns-01') return skipped('dns-01 needs no address record')
  const found = await Promise.all([dns.ofFamily(name, 4), dns.ofFamily(name, 6)])
  for (const one of found) if (one.kind === 'failed') return unknown(`${name}: ${one.reason}`)
  const records = found.flatMap((one) => (one.kind === 'answered' ? one.records : []))
  const own = ownAddresses.filter((address) => isReachable(address, []))
  if (records.length === 0)
    return failed(
      `${name} has no address record`,
      `add an A record for ${name} with the public address of this machine${own.length === 0 ? '' : `, ${own[0]}`}`,
    )
  const elsewhere = records.filter((address) => !ownAddresses.includes(address))
  if (elsewhere.length === 0) return ok(`${name} leads to this machine (${records.join(', ')})`)
  const list = elsewhere.join(', ')
  if (own.length === 0)
    return unknown(`${name} leads to ${list}: this machine has private addresses only, so a NAT must forward the ports`)
  return warning(
    `${name} leads to ${list}, which is no address of this machine (${own.join(', ')})`,
    `change the A and AAAA records of ${name}, unless a load balancer at ${list} forwards to this machine`,
  )
}

async function checkPorts({ config, tryPort: open }: RequestDeps): Promise<LiveFinding> {
  const { httpsPort, httpRedirectPort, acmeChallenge } = config
  if (acmeChallenge === 'tls-alpn-01' && httpsPort === null)
    return failed('tls-alpn-01 needs HTTPS_PORT', 'set HTTPS_PORT=443, or use ACME_CHALLENGE=http-01 or dns-01')
  const ports = [
    ...(httpsPort === null ? [] : [{ env: 'HTTPS_PORT', port: httpsPort }]),
    ...(httpRedirectPort === null ? [] : [{ env: 'HTTP_REDIRECT_PORT', port: httpRedirectPort }]),
  ]
  const host = config.httpsHost ?? config.httpHost
  const opened = ports.map(async ({ env, port }) => explainPort(env, port, await open(port, host)))
  const findings = [...(await Promise.all(opened)), ...needsForwarding(config)]
  return findings.length === 0 ? skipped('no port is opened for certificates') : combineFindings(findings)
}

/** The authority connects to 80 or 443, whatever the settings are. */
function needsForwarding({ httpsPort, httpRedirectPort, httpPort, acmeChallenge }: Config): LiveFinding[] {
  const [outside, ports] = {
    'http-01': [80, [httpRedirectPort, httpPort]] as const,
    'tls-alpn-01': [443, [httpsPort]] as const,
    'dns-01': [0, [0]] as const,
    off: [0, [0]] as const,
  }[acmeChallenge]
  if (ports.some((port) => port === outside)) return []
  const port = ports.find((one) => one !== null)
  return [unknown(`${acmeChallenge}: port ${outside} of each name must be forwarded to ${port}`)]
}

function explainPort(env: string, port: number, code: string | null): LiveFinding {
  if (code === null) return ok(`port ${port} can be opened`)
  if (code === 'EADDRINUSE')
    return warning(
      `port ${port} (${env}) is in use`,
      `if it is not Mailstead itself, stop the program that has it (ss -ltnp 'sport = :${port}' names it), or put ` +
        'Mailstead behind it',
    )
  if (code === 'EACCES')
    return failed(
      `port ${port} (${env}) may not be opened by this user`,
      'let systemd open it (mailstead-api-https.socket, mailstead-api-redirect.socket), or give the program ' +
        'CAP_NET_BIND_SERVICE, or set a port above 1023 and forward to it',
    )
  return failed(`port ${port} (${env}) cannot be opened: ${code}`, `correct ${env}, HTTPS_HOST or HTTP_HOST`)
}

async function checkAuthority(config: Config, directory: Promise<AuthorityDirectory>): Promise<LiveFinding> {
  const { host, port } = new URL(config.acmeDirectory)
  let meta: AuthorityDirectory['meta']
  try {
    meta = (await directory).meta
  } catch (error) {
    return failed(
      error instanceof Error ? error.message : String(error),
      `let this machine connect to ${host} (port ${port || 443}), or correct ACME_DIRECTORY; a private authority ` +
        'needs EXTRA_CA_FILE',
    )
  }
  if (meta?.externalAccountRequired === true && config.acmeEabKeyId === null)
    return failed(
      `${host} requires an account that you have made there`,
      'set ACME_EAB_KEY_ID and ACME_EAB_KEY to the values that it shows you',
    )
  const terms = meta?.termsOfService
  return ok(`${host} answers${terms === undefined ? '' : `; ACME_CHALLENGE accepts its terms: ${terms}`}`)
}

/** RFC 8659 3: the records of the closest name that has any. */
async function checkCaa({ config, caa }: RequestDeps, name: string, issuers: readonly string[]): Promise<LiveFinding> {
  const labels = name.split('.')
  for (let level = 0; level < labels.length; level++) {
    const at = labels.slice(level).join('.')
    const answer = await caa(at)
    if (answer.kind === 'failed')
      return warning(
        `${at}: its CAA records cannot be read (${answer.reason})`,
        'correct the name servers: the authority refuses too',
      )
    if (answer.records.length > 0)
      return evaluateCaa(answer.records, { at, name, issuers, challenge: config.acmeChallenge })
  }
  return ok(`${name} has no CAA record: every authority is permitted`)
}

interface CaaQuestion {
  readonly at: string
  readonly name: string
  readonly issuers: readonly string[]
  readonly challenge: string
}

const issuerOf = (entry: string): string => (entry.split(';')[0] ?? '').trim().toLowerCase()

function evaluateCaa(records: readonly CaaRecord[], { at, name, issuers, challenge }: CaaQuestion): LiveFinding {
  const entries = records.flatMap(({ issue }) => (issue === undefined ? [] : [issue]))
  if (entries.length === 0) return ok(`${at}: its CAA records restrict no authority`)
  const ours = entries.filter((entry) => issuers.includes(issuerOf(entry)))
  if (ours.length === 0)
    return failed(
      `the CAA records of ${at} permit only ${entries.map((entry) => issuerOf(entry) || 'nobody').join(', ')}`,
      `add this record: ${at} CAA 0 issue "${issuers[0]}"`,
    )
  // RFC 8657 4
  const permits = (entry: string): boolean => {
    const methods = /validationmethods=([^;\s]+)/.exec(entry)?.[1]
    return methods === undefined || methods.split(',').includes(challenge)
  }
  return ours.some(permits)
    ? ok(`the CAA records of ${at} permit ${issuers[0]} for ${name}`)
    : failed(
        `the CAA records of ${at} do not permit ${challenge}`,
        `add ${challenge} to validationmethods in the CAA record of ${at}, or use another ACME_CHALLENGE`,
      )
}

async function tryPort(port: number, host: string | null): Promise<string | null> {
  const server = createServer()
  try {
    server.listen({ port, exclusive: true, ...(host === null ? {} : { host }) })
    await once(server, 'listening')
    return null
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  } finally {
    server.close()
  }
}
