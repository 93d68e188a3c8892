/** A complete system with a trusted authority, an MTA-STS policy host and a DNSSEC resolver; receivers with bad TLS. */
import { createHash, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import type { TlsaRecord } from '#src/net/dns-answer.ts'
import { sql } from '#src/stores/sql.ts'
import { createAuthority, type Authority, type Certificate } from '#test/support/certificate.ts'
import { startPolicyHost, type PolicyHost } from '#test/support/policy-host.ts'
import type { ReceiverScript } from '#test/support/receiver-script.ts'
import type { Receiver } from '#test/support/receiver.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { startTestbed, type Testbed, type MessageDetails } from '#test/support/testbed.ts'

/** Receivers that mail with required TLS does not reach. */
export const REFUSED: readonly (readonly [string, string, ReceiverScript, RegExp])[] = [
  [
    'STARTTLS is not offered',
    'stripped.example',
    { offers: { starttls: false } },
    /TLS: required.*the server does not offer it/,
  ],
  ['the handshake fails', 'strictbroken.example', { handshake: 'drop' }, /at tls \(TLS: required\)/],
  ['the server knows only old TLS', 'strictold.example', { maxTls: 'TLSv1.1' }, /at tls \(TLS: required\)/],
]

/** Receivers that mail with an enforced MTA-STS policy does not reach. */
export const BAD_CERTIFICATES: readonly (readonly [
  title: string,
  domain: string,
  script: (authority: Authority) => Promise<ReceiverScript>,
  reason: RegExp,
])[] = [
  [
    'expired',
    'expired.example',
    async (authority) => ({ certificate: await authority.issue(['mx1.expired.example'], { isExpired: true }) }),
    /CERT_HAS_EXPIRED/,
  ],
  [
    'for another name',
    'misnamed.example',
    async (authority) => ({ certificate: await authority.issue(['mx.other.example']) }),
    /ERR_TLS_CERT_ALTNAME_INVALID/,
  ],
  ['self-signed', 'selfsigned.example', () => Promise.resolve({ name: 'mx1.selfsigned.example' }), /SELF_SIGNED/],
  [
    'not shown, STARTTLS being stripped',
    'nostarttls.example',
    () => Promise.resolve({ offers: { starttls: false } }),
    /does not offer it/,
  ],
  [
    'not shown, the handshake being cut',
    'cut.example',
    () => Promise.resolve({ handshake: 'drop' as const }),
    /TLS failed/,
  ],
  [
    'not shown, words being put in after STARTTLS',
    'injected.example',
    () => Promise.resolve({ on: { starttls: { raw: '220 go\r\n250 injected\r\n' } } }),
    /unexpected reply: 250 injected/,
  ],
]

export interface TlsScene {
  readonly testbed: Testbed
  readonly authority: Authority
  readonly policies: PolicyHost
  /** A certificate for an MX of the domain. */
  readonly valid: (domain: string, n?: number) => Promise<Certificate>
  /** Sends a message to the domain; its id. */
  readonly letter: (domain: string) => Promise<string>
  /** Sends a message to the domain and waits until it is settled. */
  readonly deliver: (domain: string) => Promise<MessageDetails>
  /** Asserts that mail waits, for this reason, and that nothing of it was sent in plain text. */
  readonly waits: (domain: string, mx: Receiver, reason: RegExp) => Promise<void>
  /** Signs the domain, its MX and its TLSA records. */
  readonly sign: (domain: string, records: readonly TlsaRecord[]) => void
}

/** Adds hooks to the suite that start all servers, with rules of the operator for some domains. */
export function setUpTls(): TlsScene {
  let authority: Authority
  let policies: PolicyHost
  let testbed: Testbed
  const folder = mkdtempSync('/tmp/mailstead-test-tls-')
  before(async () => {
    authority = await createAuthority()
    policies = await startPolicyHost(authority)
    const extraCaFile = join(folder, 'ca.pem')
    writeFileSync(extraCaFile, authority.cert)
    testbed = await startTestbed({
      RETRY_SCALE: '0.002',
      EXTRA_CA_FILE: extraCaFile,
      MTA_STS_PORT: String(policies.port),
      DNSSEC_RESOLVER: 'yes',
      TLS_REPORT_FROM: 'tls@sender.example',
    })
    await testbed.system.db.query(sql`
      INSERT INTO tls_rules (domain, level)
      VALUES ('strict.example', 'required'), ('stripped.example', 'required'), ('strictbroken.example', 'required'),
        ('strictold.example', 'required'), ('lenient.example', 'opportunistic')
    `)
    // read anew every five seconds
    await testbed.system.roles.mta.stop()
    await testbed.system.startMissing()
  })
  after(async () => {
    await testbed.stop()
    await policies.stop()
    rmSync(folder, { recursive: true })
  })
  printLogsOnFailure(() => testbed.system)

  const letter = (domain: string): Promise<string> => testbed.send({ to: `ann@${domain}` })
  return {
    get testbed() {
      return testbed
    },
    get authority() {
      return authority
    },
    get policies() {
      return policies
    },
    valid: (domain, n = 1) => authority.issue([`mx${n}.${domain}`]),
    letter,
    deliver: async (domain) => testbed.settle(await letter(domain)),
    waits: async (domain, mx, reason) => {
      const details = await testbed.settle(await letter(domain), 'deferred')
      assert.match(details.recipients[0]?.reason ?? '', reason)
      assert.strictEqual(details.recipients[0]?.tries, 0)
      const mailCommands = mx.commands.filter(({ line }) => line.startsWith('MAIL'))
      assert.deepEqual([mx.messages.length, mailCommands.length], [0, 0])
    },
    sign: (domain, records) => {
      const { zone } = testbed.dns
      for (const name of [domain, `mx1.${domain}`]) zone[name] = { ...zone[name], isSecure: true }
      zone[`_${testbed.system.config.smtpOutPort}._tcp.mx1.${domain}`] = { TLSA: records, isSecure: true }
    },
  }
}

/** A TLSA record for the public key of a certificate. */
export function ofKey(pem: string, usage = 3): TlsaRecord {
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' })
  return { usage, selector: 1, matchingType: 1, certificate: createHash('sha256').update(key).digest() }
}

/** The TLS of the last attempt. */
export const tlsOf = (details: MessageDetails): string | null | undefined => details.recipients[0]?.attempts.at(-1)?.tls
