/**
 * The CPU time of one RSA-2048 signature on this machine, now. The cost of a message in signatures is the one figure
 * that can be compared with another machine: both change with the CPU, and with what else runs on it.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { spread } from './stats.ts'

const ROUNDS = 9
const SIGNATURES = 60
/** As much as the header of a message. */
const DATA = Buffer.alloc(1000, 'header')
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** CPU milliseconds, the median of several rounds. Blocks the process for about a sixth of a second. */
export function measureSignature(): number {
  return spread(Array.from({ length: ROUNDS }, signRound)).median
}

function signRound(): number {
  const before = process.cpuUsage()
  for (let i = 0; i < SIGNATURES; i++) sign('sha256', DATA, privateKey)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / SIGNATURES
}
