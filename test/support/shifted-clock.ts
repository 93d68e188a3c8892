/**
 * Preloaded into a process (`node --import`) whose clock is to be wrong: `Date` is CLOCK_SHIFT_SECONDS ahead, and so is
 * everything that this program derives from it. The monotonic clock and timers are right, as on such a machine.
 */
import { env } from 'node:process'

const shiftMs = Number(env['CLOCK_SHIFT_SECONDS'] ?? 0) * 1000
const MachineDate = Date

class ShiftedDate extends MachineDate {
  constructor(...args: ConstructorParameters<DateConstructor> | []) {
    if (args.length === 0) super(ShiftedDate.now())
    else super(...args)
  }

  static override now(): number {
    return MachineDate.now() + shiftMs
  }
}

globalThis.Date = ShiftedDate as DateConstructor
