/** The name of the operator in the records of actions and notices. */
import { userInfo } from 'node:os'

export function operatorName(): string {
  try {
    return `command line, ${userInfo().username}`
  } catch {
    return 'command line' // a user id without a name
  }
}
