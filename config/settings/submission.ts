/** SMTP submission by programs. */
import { choice, cidrs, count, port, relayNetworks } from './readers.ts'
import { setting } from './setting.ts'

export const submissionSettings = {
  submissionPort: setting({
    env: 'SUBMISSION_PORT',
    read: port,
    default: '587',
    description: 'Submission port with STARTTLS. Falls back to 2587 where the user may not bind ports below 1024.',
    guide: 'smtp-submission',
  }),
  submissionTlsPort: setting({
    env: 'SUBMISSION_TLS_PORT',
    read: port,
    default: '465',
    description: 'Submission port with implicit TLS. Falls back to 2465 where the user may not bind ports below 1024.',
    guide: 'smtp-submission',
  }),
  submissionAltPort: setting({
    env: 'SUBMISSION_ALT_PORT',
    read: port,
    default: '2525',
    description: 'Second port that works like `SUBMISSION_PORT`, for networks that block that one.',
    guide: 'smtp-submission',
  }),
  submissionConnections: setting({
    env: 'SUBMISSION_CONNECTIONS',
    read: count,
    default: '2000',
    description: 'Connections that one process accepts on the submission ports. One network may open a fifth of them.',
    guide: 'smtp-submission',
  }),
  proxyProtocolNetworks: setting({
    env: 'PROXY_PROTOCOL_NETWORKS',
    read: cidrs,
    default: '',
    description:
      'Networks of proxies in front of the submission and inbound ports. A connection from them must begin with a ' +
      'header of the PROXY protocol (version 1 or 2), which names the client. If it is not set, none.',
    guide: 'behind-a-proxy',
  }),
  submissionPlainLogin: setting({
    env: 'SUBMISSION_PLAIN_LOGIN',
    read: choice('loopback', 'anywhere'),
    default: 'loopback',
    description:
      'Where a client may authenticate without TLS: `loopback` or `anywhere`. ' +
      '`anywhere` exposes API keys to the network.',
    guide: 'smtp-submission',
  }),
  submissionPerKey: setting({
    env: 'SUBMISSION_PER_KEY',
    read: count,
    default: '1000',
    unit: 'messages/s',
    description:
      'Messages that one API key may submit by SMTP, averaged over 10 s. ' +
      "The plan of the key's workspace applies as well.",
    guide: 'smtp-submission',
  }),
  submissionPerNetwork: setting({
    env: 'SUBMISSION_PER_NETWORK',
    read: count,
    default: '1000',
    unit: 'messages/s',
    description:
      'Messages that one IPv4 address or IPv6 /64 may submit by SMTP, averaged over 10 s. ' +
      'Does not apply to this machine or to `RELAY_NETWORKS`.',
    guide: 'smtp-submission',
  }),
  relayNetworks: setting({
    env: 'RELAY_NETWORKS',
    read: relayNetworks,
    default: '',
    description:
      'Networks that may submit mail without authentication, as `network=workspace,…` ' +
      'with the id, key part or name of the workspace. The first network that contains the client applies.',
    guide: 'smtp-submission',
  }),
}
