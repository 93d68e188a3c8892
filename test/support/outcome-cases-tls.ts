/** Outcomes of opportunistic and of enforced TLS. */
import { enforced, outcomeCase, receiver, replies, type OutcomeCase } from './outcome-case.ts'
import { ENFORCE } from './policy-host.ts'

export const TLS_CASES: readonly OutcomeCase[] = [
  outcomeCase('The certificate is expired, for another name, or self-signed', 'delivered', async (setup, domain) =>
    receiver({ certificate: await setup.authority.issue(['other.test'], { isExpired: true }) })(setup, domain),
  ),
  outcomeCase('STARTTLS is not offered, or was stripped', 'delivered', receiver({ offers: { starttls: false } })),
  outcomeCase('STARTTLS is refused', 'delivered', replies('starttls', '454 4.7.0 Not now')),
  outcomeCase(
    '421 to STARTTLS',
    'deferred, not counted: starttls-refused',
    replies('starttls', '421 4.3.2 Shutting down', 'close'),
  ),
  outcomeCase(
    'The server supports only TLS 1.0 and 1.1; that version is used',
    'delivered',
    receiver({ maxTls: 'TLSv1.1' }),
  ),
  outcomeCase(
    'The TLS handshake is cut; old TLS is tried, then plain text',
    'delivered',
    receiver({ handshake: 'drop' }),
  ),
  outcomeCase('The TLS handshake gets random bytes; the same', 'delivered', receiver({ handshake: 'rubbish' })),
  outcomeCase(
    'The connection is closed at STARTTLS',
    'deferred, not counted: starttls-failed',
    receiver({ on: { starttls: { end: 'close' } } }),
  ),
  outcomeCase(
    'Data is injected after the reply to STARTTLS',
    'deferred, not counted: starttls-failed',
    replies('starttls', '220 go\r\n250 injected'),
  ),
]

export const ENFORCED_TLS_CASES: readonly OutcomeCase[] = [
  outcomeCase(
    'The certificate is valid',
    'delivered',
    enforced(async ({ authority }, host) => ({ certificate: await authority.issue([host]) })),
  ),
  outcomeCase(
    'The certificate is expired',
    'deferred, not counted: tls-failed',
    enforced(async ({ authority }, host) => ({ certificate: await authority.issue([host], { isExpired: true }) })),
  ),
  outcomeCase(
    'The certificate is for another name',
    'deferred, not counted: tls-failed',
    enforced(async ({ authority }) => ({ certificate: await authority.issue(['other.test']) })),
  ),
  outcomeCase(
    'The certificate is self-signed',
    'deferred, not counted: tls-failed',
    enforced((_, host) => ({ name: host })),
  ),
  outcomeCase(
    'STARTTLS is not offered, or was stripped',
    'deferred, not counted: starttls-failed',
    enforced(({ certificate }) => ({ certificate, offers: { starttls: false } })),
  ),
  outcomeCase(
    'STARTTLS is refused',
    'deferred, not counted: starttls-refused',
    enforced(({ certificate }) => ({ certificate, on: { starttls: '454 4.7.0 Not now' } })),
  ),
  outcomeCase(
    'The TLS handshake is cut',
    'deferred, not counted: tls-failed',
    enforced(({ certificate }) => ({ certificate, handshake: 'drop' })),
  ),
  outcomeCase(
    'The server supports only TLS 1.0 and 1.1',
    'deferred, not counted: tls-failed',
    enforced(({ certificate }) => ({ certificate, maxTls: 'TLSv1.1' })),
  ),
  outcomeCase(
    'The TLS handshake gets random bytes',
    'deferred, not counted: tls-failed',
    enforced(({ certificate }) => ({ certificate, handshake: 'rubbish' })),
  ),
  outcomeCase(
    '421 to STARTTLS',
    'deferred, not counted: starttls-refused',
    enforced(({ certificate }) => ({
      certificate,
      on: { starttls: { raw: '421 4.3.2 Shutting down\r\n', end: 'close' } },
    })),
  ),
  outcomeCase(
    "The policy names none of the domain's MX hosts",
    'deferred, not counted: tls-policy',
    async (setup, domain) => {
      await receiver({})(setup, domain)
      setup.policies.publish(setup.testbed.dns.zone, domain, ENFORCE('mx.elsewhere.test'))
    },
  ),
]
