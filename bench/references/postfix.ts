/**
 * Postfix with OpenDKIM as a milter. Postfix queues on disk, with fsync before its
 * reply. Both are Debian's packages and run with their own configuration and queue
 * and Postfix's defaults, or tuned for throughput; another Postfix on the machine is
 * not affected. Postfix needs root: without root or a package the benchmark prints a
 * note and skips it.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Contender } from '#bench/harness/contender.ts'
import type { ProcessManager, StartedProcess } from '#bench/harness/process-manager.ts'
import { type DkimKey, SELECTOR, SENDER_DOMAIN } from '#bench/harness/dkim.ts'
import { findProgram } from '#bench/harness/programs.ts'
import { expectedFromSource, sendBySmtp } from '#bench/harness/smtp-load.ts'
import { freePort, sendsGreeting, isListening, waitUntil } from '#bench/harness/wait.ts'

interface Ports {
  readonly smtp: number
  readonly milter: number
  readonly sink: number
}

/** Why this reference cannot run here, and what to do; null when it can. */
export function missingForPostfix(): string | null {
  const missing = ['postfix', 'opendkim'].filter((name) => findProgram(name) === null)
  if (missing.length > 0)
    return `${missing.join(' and ')} not installed: apt-get install -y --no-install-recommends postfix opendkim`
  return process.getuid?.() === 0
    ? null
    : 'Postfix can be started by root only: run the benchmark as root to compare with it'
}

interface Tuning {
  readonly name: string
  /** Settings besides those that `mainCf` needs. */
  readonly settings: string
}

const TUNINGS: readonly Tuning[] = [
  { name: 'with defaults', settings: '' },
  {
    name: 'with more deliveries and reused connections',
    settings: `default_process_limit = 200
default_destination_concurrency_limit = 50
smtp_destination_concurrency_limit = 50
initial_destination_concurrency = 20
smtp_connection_cache_destinations = 127.0.0.1
smtp_tls_security_level = none
in_flow_delay = 0
`,
  },
]

export function openPostfixes(manager: ProcessManager, key: DkimKey): Contender[] {
  return TUNINGS.map((tuning) => openPostfix(manager, key, tuning))
}

function openPostfix(manager: ProcessManager, key: DkimKey, tuning: Tuning): Contender {
  const dir = join(manager.dir, 'postfix')
  const servers: StartedProcess[] = []
  let smtpPort = 0
  return {
    name: 'Postfix',
    describe: `Postfix ${setting('mail_version')} ${tuning.name}, OpenDKIM RSA-2048`,
    dkimRecords: { [`${SELECTOR}._domainkey.${SENDER_DOMAIN}`]: key.record },
    start: async (sink) => {
      const ports = { smtp: await freePort(), milter: await freePort(), sink }
      smtpPort = ports.smtp
      configure(dir, { ...ports, tuning }, key)
      const opendkim = await manager.start({
        name: 'opendkim',
        file: program('opendkim'),
        args: ['-f', '-x', join(dir, 'opendkim.conf')],
      })
      servers.push(opendkim)
      await waitUntil('OpenDKIM listening', () => isListening(ports.milter), opendkim)
      execFileSync(program('postfix'), ['-c', join(dir, 'conf'), 'check'], { stdio: ['ignore', 'ignore', 'inherit'] })
      const daemon = join(setting('daemon_directory'), 'master')
      const master = await manager.start({ name: 'postfix', file: daemon, args: ['-c', join(dir, 'conf'), '-s'] })
      servers.push(master)
      await waitUntil('Postfix accepting connections', () => sendsGreeting(ports.smtp), master)
      return { postfix: master.pid, opendkim: opendkim.pid }
    },
    expect: expectedFromSource,
    send: ({ count }, mix) => sendBySmtp(smtpPort, count, mix),
    stop: async () => {
      for (const server of servers.splice(0).toReversed()) await server.stop()
    },
  }
}

function configure(dir: string, ports: Ports & { readonly tuning: Tuning }, key: DkimKey): void {
  for (const name of ['conf', 'queue', 'data']) mkdirSync(join(dir, name), { recursive: true })
  writeFileSync(join(dir, 'conf/main.cf'), `${mainCf(dir, ports)}${ports.tuning.settings}`)
  writeFileSync(join(dir, 'conf/master.cf'), masterCf(ports.smtp))
  writeFileSync(join(dir, 'key.pem'), key.privatePem, { mode: 0o600 })
  writeFileSync(join(dir, 'opendkim.conf'), opendkimConf(dir, ports.milter))
  execFileSync('chown', ['postfix', join(dir, 'data')])
}

/** All other settings are Postfix's defaults, or those of the tuning. */
function mainCf(dir: string, ports: Ports): string {
  return `compatibility_level = 3.6
queue_directory = ${dir}/queue
data_directory = ${dir}/data
myhostname = postfix.bench.example
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
relayhost = [127.0.0.1]:${ports.sink}
smtpd_relay_restrictions = permit_mynetworks, reject
alias_maps =
alias_database =
smtpd_milters = inet:127.0.0.1:${ports.milter}
milter_default_action = tempfail
`
}

/** Debian's services, without those that only local delivery needs and without chroot. */
function masterCf(port: number): string {
  return `127.0.0.1:${port} inet n - n - - smtpd
pickup     unix  n  -  n  60     1  pickup
cleanup    unix  n  -  n  -      0  cleanup
qmgr       unix  n  -  n  300    1  qmgr
tlsmgr     unix  -  -  n  1000?  1  tlsmgr
rewrite    unix  -  -  n  -      -  trivial-rewrite
bounce     unix  -  -  n  -      0  bounce
defer      unix  -  -  n  -      0  bounce
trace      unix  -  -  n  -      0  bounce
verify     unix  -  -  n  -      1  verify
flush      unix  n  -  n  1000?  0  flush
proxymap   unix  -  -  n  -      -  proxymap
proxywrite unix  -  -  n  -      1  proxymap
smtp       unix  -  -  n  -      -  smtp
relay      unix  -  -  n  -      -  smtp
showq      unix  n  -  n  -      -  showq
error      unix  -  -  n  -      -  error
retry      unix  -  -  n  -      -  error
discard    unix  -  -  n  -      -  discard
anvil      unix  -  -  n  -      1  anvil
scache     unix  -  -  n  -      1  scache
postlog    unix-dgram n - n -    1  postlogd
`
}

/** As in Debian's package, except for names. The key is under /var/tmp, which OpenDKIM considers unsafe. */
function opendkimConf(dir: string, milterPort: number): string {
  return `Syslog yes
Canonicalization relaxed/simple
OversignHeaders From
Mode s
Domain ${SENDER_DOMAIN}
Selector ${SELECTOR}
KeyFile ${dir}/key.pem
RequireSafeKeys no
Socket inet:${milterPort}@127.0.0.1
`
}

function setting(name: string): string {
  return execFileSync(program('postconf'), ['-d', '-h', name], { encoding: 'utf8' }).trim()
}

function program(name: string): string {
  return findProgram(name) ?? name
}
