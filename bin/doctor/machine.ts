/** Checks of the machine: Node, the settings, room on the disk. */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Check, failed, ok, skipped, warning } from './check.ts'

const OLDEST_NODE = 24
const GIGABYTE = 1_000_000_000

export const NODE: Check = {
  name: 'Node.js',
  look: () => {
    const { node } = process.versions
    const isNew = Number.parseInt(node, 10) >= OLDEST_NODE
    return Promise.resolve(
      isNew ? ok(node) : failed(`${node} is too old`, `start it by bin/mailstead, which brings Node ${OLDEST_NODE}`),
    )
  },
}

export const MODE: Check = {
  name: 'mode',
  look: ({ config }) => {
    if (config.isSandbox) return Promise.resolve(ok('sandbox: no mail leaves this machine'))
    const isNamed = config.hostname?.toLowerCase() === config.serverName
    const todo = 'set HOSTNAME to the public name of this server: receivers look at it'
    return Promise.resolve(
      isNamed ? ok(`mail leaves this machine as ${config.serverName}`) : warning('HOSTNAME is no public name', todo),
    )
  },
}

export const DISK: Check = {
  name: 'disk',
  look: async ({ config }) => {
    let folder = config.dataDir
    while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
    const { bavail, bsize } = await statfs(folder)
    const free = bavail * bsize
    if (!Number.isFinite(free)) return skipped('the free room cannot be told')
    const detail = `${(free / GIGABYTE).toFixed(1)} GB free in ${folder}`
    return free < GIGABYTE ? warning(detail, 'make room, or set DATA_DIR to a larger disk') : ok(detail)
  },
}
