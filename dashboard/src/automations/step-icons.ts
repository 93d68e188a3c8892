import type { IconComponent } from '#dashboard/src/ui/icon.tsx'
import {
  Clock,
  GitFork,
  Hourglass,
  LogOut,
  Mail,
  Tag,
  Tags,
  UserMinus,
  UserPlus,
  Webhook,
} from '#dashboard/src/ui/icons.tsx'
import type { StepType } from './flow-document.ts'

export const STEP_ICONS: Readonly<Record<StepType, IconComponent>> = {
  send_email: Mail,
  delay: Clock,
  condition: GitFork,
  wait_for_event: Hourglass,
  add_tag: Tag,
  remove_tag: Tags,
  add_to_audience: UserPlus,
  remove_from_audience: UserMinus,
  webhook: Webhook,
  exit: LogOut,
}
