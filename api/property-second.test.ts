import { describeRoutes } from '#test/support/route-property.ts'

describeRoutes(1, 3)
