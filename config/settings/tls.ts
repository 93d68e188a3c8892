/** Certificates, MTA-STS and TLS reports. */
import { port, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const tlsSettings = {
  tlsCertFile: optional({
    env: 'TLS_CERT_FILE',
    read: text,
    description:
      'Certificate of the SMTP servers, in PEM with its chain. If it is not set, one that is requested automatically ' +
      '(`ACME_CHALLENGE`), or a self-signed one.',
  }),
  tlsKeyFile: optional({
    env: 'TLS_KEY_FILE',
    read: text,
    description: 'Private key of `TLS_CERT_FILE`, in PEM.',
  }),
  extraCaFile: optional({
    env: 'EXTRA_CA_FILE',
    read: text,
    description: 'Further certificate authorities to trust, in PEM.',
  }),
  mtaStsPort: setting({
    env: 'MTA_STS_PORT',
    read: port,
    default: '443',
    description: 'Port of MTA-STS policy hosts. Change it for tests only.',
    guide: 'transport-security',
  }),
  tlsReportFrom: optional({
    env: 'TLS_REPORT_FROM',
    read: text,
    description:
      'Sender of TLS reports to other domains (RFC 8460): an address of a verified sending domain. ' +
      'If it is not set, no reports are sent.',
    guide: 'transport-security',
  }),
}
