/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machine_virt - whether this is a guest, and whose.
 *
 * Asked in this order: the CPU itself (x86, or its answer in a capture), /sys/hypervisor, the
 * device tree, DMI. If there is only the CPU's flag "hypervisor", the guest's kind is unknown.
 */
#include "collect/machine/machine_int.h"

#include <string.h>

#include "base/bytes.h"
#include "collect/sysfs.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Signatures in leaf 0x40000000. */
static const struct {
	char signature[13];
	const char *name;
} signatures[] = {
	{ "KVMKVMKVM", "KVM guest" },		{ "Linux KVM Hv", "KVM guest" },
	{ "Microsoft Hv", "Hyper-V guest" },	{ "VMwareVMware", "VMware guest" },
	{ "XenVMMXenVMM", "Xen guest" },	{ "TCGTCGTCGTCG", "QEMU TCG guest" },
	{ "VBoxVBoxVBox", "VirtualBox guest" }, { "bhyve bhyve ", "bhyve guest" },
	{ "ACRNACRNACRN", "ACRN guest" },	{ " lrpepyh  vr", "Parallels guest" },
	{ "QNXQVMBSQG", "QNX guest" },
};
#endif

/* DMI's vendor or product begins so. */
static const struct {
	const char *text, *name;
} dmi_words[] = {
	{ "Amazon EC2", "Amazon EC2 guest" },
	{ "Google Compute Engine", "Google Compute Engine guest" },
	{ "KVM", "KVM guest" },
	{ "QEMU", "QEMU guest" },
	{ "VMware", "VMware guest" },
	{ "VirtualBox", "VirtualBox guest" },
	{ "innotek GmbH", "VirtualBox guest" },
	{ "Xen", "Xen guest" },
	{ "Bochs", "Bochs guest" },
	{ "Parallels", "Parallels guest" },
	{ "OpenStack", "OpenStack guest" },
	{ "Alibaba Cloud ECS", "Alibaba Cloud guest" },
	{ "Virtual Machine", "Hyper-V guest" },
	{ "Apple Virtualization", "Apple Virtualization guest" },
};

static const char *of_cpu(struct arena *a)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned eax, ebx, ecx, edx;
	char text[13] = "";

	__cpuid(0x40000000, eax, ebx, ecx, edx);
	(void)eax;
	st32(text, ebx);
	st32(text + 4, ecx);
	st32(text + 8, edx);
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
		if (!strcmp(text, signatures[i].signature))
			return signatures[i].name;
	for (size_t i = 0; text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			return NULL;
	return text[0] ? arena_printf(a, "guest of \"%s\"", text) : NULL;
#else
	(void)a;
	return NULL;
#endif
}

static const char *of_device_tree(struct arena *a, const char *root)
{
	const char *s = sys_text(a, root, "proc/device-tree/hypervisor/compatible");

	if (!s)
		s = sys_text(a, root, "sys/firmware/devicetree/base/hypervisor/compatible");
	if (!s)
		return NULL;
	if (!strcmp(s, "linux,kvm"))
		return "KVM guest";
	if (!strncmp(s, "xen", 3))
		return "Xen guest";
	return arena_printf(a, "guest of \"%s\"", s);
}

static const char *of_dmi(struct arena *a, const char *root)
{
	static const char *const files[] = { "product_name", "sys_vendor", "board_vendor" };

	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		const char *s = sys_text(a, root, "sys/class/dmi/id/%s", files[f]);

		/* EC2's machines without a hypervisor: c7g.metal, c7g.metal-48xl */
		if (!f && s && strstr(s, ".metal"))
			return NULL;
		for (size_t i = 0; s && i < sizeof(dmi_words) / sizeof(dmi_words[0]); i++)
			if (!strncmp(s, dmi_words[i].text, strlen(dmi_words[i].text)))
				return dmi_words[i].name;
	}
	return NULL;
}

/* From the CPU, when the machine was captured. */
static const char *of_capture(struct arena *a, const char *root)
{
	const char *facts = sys_text(a, root, "cyclade/facts"), *v;
	size_t n;

	if (!facts || !text_field(facts, strlen(facts), "hypervisor", ':', &v, &n) || !n)
		return NULL;
	return arena_strndup(a, v, n);
}

int machine_hypervisor(struct machine *m, struct arena *a, const char *root, bool guest)
{
	const char *name = NULL, *type;

	if (guest)
		name = root[0] ? of_capture(a, root) : of_cpu(a);
	if (!name) {
		type = sys_text(a, root, "sys/hypervisor/type");
		if (type)
			name = !strcmp(type, "xen") ? "Xen guest"
						    : arena_printf(a, "guest of \"%s\"", type);
	}
	if (!name)
		name = of_device_tree(a, root);
	/* Some clouds' bare metal has the cloud's name in DMI: on x86 the CPU's flag decides. */
	if (!name && (guest || !m->cpuid || !strncmp(m->cpuid, "0x", 2)))
		name = of_dmi(a, root);
	if (!name && guest)
		name = "guest of an unknown hypervisor";
	m->hypervisor = name;
	return 0;
}
