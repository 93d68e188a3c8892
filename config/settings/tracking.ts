/** Open and click tracking. */
import { text, url } from './readers.ts'
import { optional } from './setting.ts'

export const trackingSettings = {
  trackingUrl: optional({
    env: 'TRACKING_URL',
    read: url,
    description:
      "Scheme and host of tracking and unsubscribe links, and the target of customers' own tracking domains. " +
      'If it is not set, `PUBLIC_URL`.',
    guide: 'open-and-click-tracking',
  }),
  machinesFile: optional({
    env: 'MACHINES_FILE',
    read: text,
    description:
      'User agents and networks of programs that open mail and follow links, ' +
      'to use in place of `config/machines.yaml`.',
    guide: 'open-and-click-tracking',
  }),
}
