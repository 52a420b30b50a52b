// SPDX-License-Identifier: GPL-2.0-or-later
/* Traps to EL2 and EL3 of what EL1 does to the registers. */
#include "poe.h"

/* Runs code at EL1 without MMU, until it calls or is trapped. */
static void __attribute__((unused)) expect_trap(const char *what, char *code, bool trap)
{
	run_lower((u64)code, 0x3c5);
	check(EC(seen.esr) == (trap ? 0x18 : EL == 3 ? 0x17 : 0x16), what, seen.esr, trap);
}

#if EL == 2 && !VHE
#define HCRX_EL2	s3_4_c1_c2_2
#define HFGRTR_EL2	s3_4_c1_c1_4
#define HFGWTR_EL2	s3_4_c1_c1_5
#define FGT_ALL		(15ULL << 57)	/* nPIRE0_EL1, nPIR_EL1, nPOR_EL0, nPOR_EL1 */

/* PIR_EL1 and PIRE0_EL1, when all else lets them pass. */
static void test_pir_traps(void)
{
	WRITE_REG(HFGRTR_EL2, FGT_ALL & ~BIT(58));
	WRITE_REG(HFGWTR_EL2, FGT_ALL & ~BIT(57));
	expect_trap("nPIR_EL1", read_pir_el1, true);
	expect_trap("nPIR_EL1", write_pir_el1, false);
	expect_trap("nPIRE0_EL1", read_pire0_el1, false);
	expect_trap("nPIRE0_EL1", write_pire0_el1, true);
	WRITE_REG(HFGRTR_EL2, FGT_ALL);
	WRITE_REG(HFGWTR_EL2, FGT_ALL);
	WRITE_REG(HCRX_EL2, 0);
	expect_trap("PIR_EL1", read_pir_el1, false);
	WRITE_REG(hcr_el2, HCR_VALUE | BIT(26));	/* TVM */
	expect_trap("TVM", write_pir_el1, true);
	expect_trap("TVM", write_pire0_el1, true);
	expect_trap("TVM", read_pir_el1, false);
	WRITE_REG(hcr_el2, HCR_VALUE | BIT(30));	/* TRVM */
	expect_trap("TRVM", read_pir_el1, true);
	expect_trap("TRVM", read_pire0_el1, true);
	expect_trap("TRVM", write_pir_el1, false);
	WRITE_REG(hcr_el2, HCR_VALUE);
	result("PIE: fine-grained traps, HCR_EL2.TVM and TRVM");
}

void test_traps(void)
{
	WRITE_REG(HCRX_EL2, BIT(14));
	WRITE_REG(HFGRTR_EL2, BIT(59) | BIT(60));
	WRITE_REG(HFGWTR_EL2, BIT(59) | BIT(60));
	expect_trap("TCR2_EL1", read_tcr2_el1, false);
	expect_trap("TCR2_EL1", write_tcr2_el1, false);
	expect_trap("POR_EL1", read_por_el1, false);
	expect_trap("POR_EL1", write_por_el1, false);
	expect_trap("POR_EL0", read_por_el0, false);
	expect_trap("POR_EL0", write_por_el0, false);
	result("EL1 may access the registers");

	WRITE_REG(HCRX_EL2, 0);
	expect_trap("TCR2_EL1", read_tcr2_el1, true);
	expect_trap("TCR2_EL1", write_tcr2_el1, true);
	WRITE_REG(HCRX_EL2, BIT(14));
	result("HCRX_EL2.TCR2En traps TCR2_EL1");

	WRITE_REG(HFGRTR_EL2, BIT(59) | BIT(60) | BIT(32));
	expect_trap("TCR2_EL1", read_tcr2_el1, true);
	expect_trap("TCR2_EL1", write_tcr2_el1, false);
	WRITE_REG(HFGRTR_EL2, BIT(59));
	expect_trap("nPOR_EL1", read_por_el1, true);
	expect_trap("nPOR_EL1", write_por_el1, false);
	expect_trap("nPOR_EL1", read_por_el0, false);
	WRITE_REG(HFGRTR_EL2, BIT(60));
	expect_trap("nPOR_EL0", read_por_el0, true);
	WRITE_REG(HFGRTR_EL2, BIT(59) | BIT(60));
	WRITE_REG(HFGWTR_EL2, 0);
	expect_trap("HFGWTR", write_por_el1, true);
	expect_trap("HFGWTR", write_por_el0, true);
	expect_trap("HFGWTR", read_por_el1, false);
	WRITE_REG(HFGWTR_EL2, BIT(59) | BIT(60));
	result("fine-grained traps");

	WRITE_REG(hcr_el2, HCR_VALUE | BIT(26));	/* TVM */
	expect_trap("TVM", write_por_el1, true);
	expect_trap("TVM", write_tcr2_el1, true);
	expect_trap("TVM", read_por_el1, false);
	WRITE_REG(hcr_el2, HCR_VALUE | BIT(30));	/* TRVM */
	expect_trap("TRVM", read_por_el1, true);
	expect_trap("TRVM", read_tcr2_el1, true);
	expect_trap("TRVM", write_por_el1, false);
	WRITE_REG(hcr_el2, HCR_VALUE);
	result("HCR_EL2.TVM and TRVM");
	test_pir_traps();
}
#elif EL == 3
void test_traps(void)
{
	const u64 scr = 0x430 | BIT(0);		/* RW, RES1, NS */

	WRITE_REG(scr_el3, scr | BIT(43) | BIT(45));
	expect_trap("TCR2_EL1", read_tcr2_el1, false);
	expect_trap("POR_EL1", write_por_el1, false);
	expect_trap("POR_EL0", read_por_el0, false);
	WRITE_REG(scr_el3, scr | BIT(45));
	expect_trap("TCR2_EL1", read_tcr2_el1, true);
	expect_trap("TCR2_EL1", write_tcr2_el1, true);
	expect_trap("POR_EL1", read_por_el1, false);
	WRITE_REG(scr_el3, scr | BIT(43));
	expect_trap("TCR2_EL1", read_tcr2_el1, false);
	expect_trap("POR_EL1", read_por_el1, true);
	expect_trap("POR_EL1", write_por_el1, true);
	expect_trap("POR_EL0", read_por_el0, true);
	expect_trap("PIR_EL1", read_pir_el1, true);
	expect_trap("PIR_EL1", write_pir_el1, true);
	expect_trap("PIRE0_EL1", read_pire0_el1, true);
	WRITE_REG(scr_el3, scr | BIT(45));
	expect_trap("PIR_EL1", read_pir_el1, false);
	expect_trap("PIRE0_EL1", write_pire0_el1, false);
	result("SCR_EL3.TCR2En and PIEn");
}
#else
void test_traps(void)
{
}
#endif
