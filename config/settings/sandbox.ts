/** The built-in DNS server and receiver. */
import { port, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const sandboxSettings = {
  captureDomain: optional({
    env: 'CAPTURE_DOMAIN',
    read: text,
    description:
      'Domain whose mail is stored for the workspace that sent it and never leaves the server. ' +
      'If it is not set, `capture.MAILSTEAD_HOSTNAME`.',
    guide: 'sandbox',
  }),
  sandboxDnsPort: setting({
    env: 'SANDBOX_DNS_PORT',
    read: port,
    default: '2553',
    description:
      'Loopback port of the built-in DNS server, which the built-in receiver queries. ' +
      'In sandbox mode it replaces `DNS_SERVERS`.',
    guide: 'sandbox',
  }),
  sandboxSmtpPort: setting({
    env: 'SANDBOX_SMTP_PORT',
    read: port,
    default: '2552',
    description:
      'Loopback port of the built-in receiver of `CAPTURE_DOMAIN`. ' +
      'In sandbox mode it replaces `SMTP_OUT_PORT` and receives all mail.',
    guide: 'sandbox',
  }),
}
