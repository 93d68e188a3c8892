/** The source addresses that mail leaves from. */
import { BLOCKLISTS } from './blocklists.ts'
import { countList, dnsNamesOrNone, text } from './readers.ts'
import { setting } from './setting.ts'

export const sourceSettings = {
  warmUp: setting({
    env: 'WARM_UP',
    read: countList,
    default: '50,100,200,400,800,1600,3200,6400,12800,25600',
    unit: 'messages a day',
    description:
      'Messages that a warming source may send to one receiver, one number per step. ' +
      'After the last step the source has no such limit.',
    guide: 'sending-ips-and-pools',
  }),
  egressCheckTarget: setting({
    env: 'EGRESS_CHECK_TARGET',
    read: text,
    default: 'gmail.com',
    description:
      'Domain (its MX hosts), host or address that each source connects to in order to check port 25. ' +
      '`none` switches the check off.',
    guide: 'sending-ips-and-pools',
  }),
  blocklists: setting({
    env: 'BLOCKLISTS',
    read: dnsNamesOrNone,
    default: BLOCKLISTS.map(({ zone }) => zone).join(','),
    description: 'DNS blocklists that are queried for every source. `none` switches the check off.',
    guide: 'sending-ips-and-pools',
  }),
}
