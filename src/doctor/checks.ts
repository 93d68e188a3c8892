/** The checks that any process of the service can run, in the order of the report. */
import { BACKUP } from './backup.ts'
import { BOUNCES } from './bounces.ts'
import type { DoctorCheck } from './check.ts'
import { CLOCK, PROCESS_CLOCKS } from './clocks.ts'
import { DKIM_KEYS } from './dkim-keys.ts'
import { EGRESS } from './egress.ts'
import { HOSTED_MAIL } from './hosted-mail.ts'
import { LIVE } from './live.ts'
import { DISK, NODE, SENDING_MODE } from './machine.ts'
import { DNS } from './network.ts'
import { NOTICES } from './notices.ts'
import { OPERATOR_DKIM } from './operator-dkim.ts'
import { PLAIN_HTTP } from './plain-http.ts'
import { QUEUE_AGE, RETENTION } from './queue.ts'
import { REDIS, REDIS_AOF, REDIS_MEMORY } from './redis.ts'
import { RETURN_PATH } from './return-path.ts'
import { SENDER_DMARC } from './sender-dmarc.ts'
import { CONNECTIONS, MASTER_KEY, MIGRATIONS, POSTGRES } from './stores.ts'
import { SUSPENSIONS } from './suspensions.ts'

/** Of this machine, the stores and the network. */
const OF_INSTALLATION: readonly DoctorCheck[] = [
  NODE,
  NOTICES,
  SUSPENSIONS,
  SENDING_MODE,
  DISK,
  POSTGRES,
  CONNECTIONS,
  MIGRATIONS,
  CLOCK,
  PROCESS_CLOCKS,
]
const OF_STORES: readonly DoctorCheck[] = [REDIS, REDIS_MEMORY, REDIS_AOF, DNS]
const OF_MAIL: readonly DoctorCheck[] = [
  ...LIVE,
  PLAIN_HTTP,
  QUEUE_AGE,
  RETENTION,
  BACKUP,
  BOUNCES,
  RETURN_PATH,
  SENDER_DMARC,
  DKIM_KEYS,
]
const OF_SENDING: readonly DoctorCheck[] = [HOSTED_MAIL, ...EGRESS]

/**
 * For the api. It has neither the keys of DKIM nor that of the operator; the command checks those, and the resolver and
 * reports of the outbound role, with code that the api does not load.
 */
export const API_CHECKS: readonly DoctorCheck[] = [...OF_INSTALLATION, ...OF_STORES, ...OF_MAIL, ...OF_SENDING]

/** For the command, with those that only it can run. */
export function commandChecks({
  dnssec,
  tlsReports,
}: {
  readonly dnssec: DoctorCheck
  readonly tlsReports: DoctorCheck
}): readonly DoctorCheck[] {
  return [...OF_INSTALLATION, MASTER_KEY, ...OF_STORES, dnssec, ...OF_MAIL, OPERATOR_DKIM, tlsReports, ...OF_SENDING]
}
