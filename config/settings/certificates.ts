/** Certificates that are requested and renewed automatically (ACME, RFC 8555). */
import { choice, dnsNamesOrNone, text, url } from './readers.ts'
import { optional, setting } from './setting.ts'

export const certificateSettings = {
  acmeChallenge: setting({
    env: 'ACME_CHALLENGE',
    read: choice('off', 'http-01', 'tls-alpn-01', 'dns-01'),
    default: 'off',
    description:
      'How the authority checks that the host names are yours: `http-01` (port 80 of each name reaches the API), ' +
      '`tls-alpn-01` (port 443 reaches `HTTPS_PORT`) or `dns-01` (`ACME_DNS_COMMAND` publishes a TXT record). ' +
      'Certificates are then requested and renewed automatically, and you accept the terms of the authority. ' +
      '`off` requests none.',
    guide: 'certificates',
  }),
  acmeDirectory: setting({
    env: 'ACME_DIRECTORY',
    read: url,
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    description: "URL of the authority's ACME directory.",
    guide: 'certificates',
  }),
  acmeEmail: optional({
    env: 'ACME_EMAIL',
    read: text,
    description: 'Address for messages of the authority about your certificates.',
    guide: 'certificates',
  }),
  acmeEabKeyId: optional({
    env: 'ACME_EAB_KEY_ID',
    read: text,
    description: 'Key id of an external account, if the authority requires one.',
    guide: 'certificates',
  }),
  acmeEabKey: optional({
    env: 'ACME_EAB_KEY',
    read: text,
    description: 'HMAC key of that account, in base64url.',
    guide: 'certificates',
  }),
  acmeDnsCommand: optional({
    env: 'ACME_DNS_COMMAND',
    read: text,
    description:
      'Command that publishes and removes TXT records for `dns-01`. The worker runs it in a shell with the arguments ' +
      '`present` or `cleanup`, the name and the value.',
    guide: 'certificates',
  }),
  smtpNames: setting({
    env: 'SMTP_NAMES',
    read: dnsNamesOrNone,
    default: 'none',
    description:
      'Further host names of the SMTP servers for their certificate, such as the name that mail clients use. ' +
      'The name of the server itself is always in it.',
    guide: 'certificates',
  }),
}
