/** Open and click tracking, and hosted mail. */
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
  hostedMailUrl: optional({
    env: 'HOSTED_MAIL_URL',
    read: url,
    description:
      'Scheme and host at which "view in browser" pages are shown: a host name of its own, which serves nothing ' +
      'else. If it is not set, they share the host of the tracking links and are sandboxed there.',
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
