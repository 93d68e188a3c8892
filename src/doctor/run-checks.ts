/**
 * Runs checks of this installation. All run, whatever the others find; a check that throws or does not end in time
 * counts as failed. Nothing is changed.
 */
import { type CheckContext, type DoctorFinding, type DoctorCheck, failed, messageOf } from './check.ts'
import { guideOf } from './guides.ts'
import { doctorText } from './finding-texts.ts'

/** Each check uses one connection at a time: on a busy server, a check must not fail because others have them all. */
export const CHECKS_AT_ONCE = 12
const DEFAULT_TIMEOUT_MS = 10_000
const TRY_AGAIN = doctorText('again_todo')

/** `guide`: the page that explains the check. */
export type NamedResult = DoctorFinding & { readonly name: string; readonly guide: string }

/** In the order of `checks`. */
export async function runChecks(
  checks: readonly DoctorCheck[],
  context: CheckContext,
  atOnce = CHECKS_AT_ONCE,
): Promise<NamedResult[]> {
  const results: (DoctorFinding | undefined)[] = checks.map(() => undefined)
  const waiting = checks.entries()
  const runWaiting = async (): Promise<void> => {
    for (const [i, check] of waiting) results[i] = await runCheck(check, context)
  }
  await Promise.all(Array.from({ length: atOnce }, runWaiting))
  return checks.flatMap(({ name }, i) => {
    const result = results[i]
    return result === undefined ? [] : [{ name, ...result, guide: guideOf(name) }]
  })
}

async function runCheck(check: DoctorCheck, context: CheckContext): Promise<DoctorFinding> {
  const { promise: late, resolve } = Promise.withResolvers<DoctorFinding>()
  const ms = check.withinMs ?? DEFAULT_TIMEOUT_MS
  const timer = setTimeout(() => resolve(failed(doctorText('late_answer', { seconds: ms / 1000 }), TRY_AGAIN)), ms)
  try {
    return await Promise.race([check.run(context), late])
  } catch (error) {
    return failed(messageOf(error), TRY_AGAIN)
  } finally {
    clearTimeout(timer)
  }
}
