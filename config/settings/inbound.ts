/** Inbound SMTP: bounces, complaints and unsubscribe mail. */
import { count, port, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const inboundSettings = {
  inboundPort: setting({
    env: 'INBOUND_PORT',
    read: port,
    default: '25',
    description:
      'Port that receives bounces and complaints. Falls back to 2526 where the user may not bind ports below 1024.',
    guide: 'bounces-and-complaints',
  }),
  inboundConnections: setting({
    env: 'INBOUND_CONNECTIONS',
    read: count,
    default: '1000',
    description: 'Connections that one process accepts on the inbound port. One network may open a fifth of them.',
    guide: 'bounces-and-complaints',
  }),
  bounceDomain: optional({
    env: 'BOUNCE_DOMAIN',
    read: text,
    description: 'Domain of the return-path. If it is not set, `bounces.MAILSTEAD_HOSTNAME`.',
    guide: 'bounces-and-complaints',
  }),
}
